package tsdtest

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Ask sends a request and returns its status and its answer.
func Ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, _, text := Exchange(t, r)
	return status, text
}

// Tell sends lines by telnet and returns the answers.
func Tell(t *testing.T, address, lines string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, lines+"exit\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Exchange sends a request and returns its answer.
func Exchange(t *testing.T, r *http.Request) (status int, header http.Header, text string) {
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}
