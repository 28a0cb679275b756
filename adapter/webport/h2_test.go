package webport

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// startTLS serves a port with TLS, and returns its address and a client of HTTP/2.
func startTLS(t *testing.T, handler http.Handler) (string, *http.Client) {
	t.Helper()
	o := Options{MaxConnections: 512, BodyBytes: 16 << 20, InFlightBytes: 64 << 20, Hosts: &netserver.Hosts{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	server := NewServer(NewGuard(handler, handler, o), o)
	server.TLSConfig = &tls.Config{Certificates: certified.TLS.Certificates} //nolint:gosec // the versions are the default ones
	done := make(chan error, 1)
	go func() { done <- server.ServeTLS(Listen(l, o), "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // whose certificate it is does not matter here
	t.Cleanup(client.CloseIdleConnections)
	return "https://" + l.Addr().String(), client
}

// TestParallelBodies: while a request of a connection of HTTP/2 has been answered, and bodies of others still come, these are no heads:
// however much they are together, the connection goes on.
func TestParallelBodies(t *testing.T) {
	const streams, size = 63, 300 << 10
	entered := make(chan bool, streams)
	base, client := startTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- true
		echo(w, r)
	}))
	post := func(body io.Reader) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/write", body)
		if err != nil {
			return err.Error()
		}
		resp, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%s %s %v", resp.Proto, text, err)
	}
	if got := post(strings.NewReader("x")); got != "HTTP/2.0 1<nil> <nil>" {
		t.Fatal(got)
	}
	<-entered
	answers, pipes := make(chan string, streams), []*io.PipeWriter{}
	for range streams {
		r, w := io.Pipe()
		pipes = append(pipes, w)
		go func() { answers <- post(r) }()
	}
	for _, w := range pipes { // the client sends a head with the first bytes
		_, _ = w.Write([]byte("x"))
		<-entered
	}
	if got := post(strings.NewReader("xy")); got != "HTTP/2.0 2<nil> <nil>" {
		t.Fatal(got)
	}
	for _, w := range pipes {
		go func() {
			_, _ = w.Write(bytes.Repeat([]byte("x"), size-1))
			_ = w.Close()
		}()
	}
	for range streams {
		if got := <-answers; got != fmt.Sprintf("HTTP/2.0 %d<nil> <nil>", size) {
			t.Fatal(got)
		}
	}
}

// TestLateBody: a body that does not come in time is answered 408, by the guard and by what reads bodies by itself.
func TestLateBody(t *testing.T) {
	late := readerFunc(func([]byte) (int, error) { return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded) })
	o := Options{MaxConnections: 512, BodyBytes: 16 << 20, InFlightBytes: 64 << 20, Registerer: prometheus.NewRegistry()}
	w := httptest.NewRecorder()
	NewGuard(http.HandlerFunc(echo), nil, o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", late))
	if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "did not come in time; send less in one request") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
