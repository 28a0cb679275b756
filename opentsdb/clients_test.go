package opentsdb_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestSenders replays what clients seen in the wild send, and looks whether every point can be read.
func TestSenders(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(t *testing.T, address string)
		want string // as /q?ascii shows the metric m
	}{
		{"tcollector by telnet", func(t *testing.T, address string) {
			conn := dial(t, address)
			// It asks for the version, and goes on when it reads anything.
			write(t, conn, "version\n")
			if n, err := conn.Read(make([]byte, 4096)); n == 0 || err != nil {
				t.Fatal(n, err)
			}
			write(t, conn, "put m 1356998400 0.36 host=web01\nput m 1356998415 0 host=web01\nput m 1356998430 184467440737 host=web01\n")
			closeWrite(t, conn)
		}, "m 1356998400 0.36 host=web01\nm 1356998415 0 host=web01\nm 1356998430 184467440737 host=web01\n"},
		{"tcollector by HTTP", func(t *testing.T, address string) {
			postRaw(t, address, "/api/put?details", map[string]string{"Content-Type": "application/json"}, http.StatusOK,
				`[{"metric": "m", "timestamp": 1356998400, "value": 0.36, "tags": {"host": "web01"}}, {"metric": "m", "timestamp": 1356998415, "value": "17", "tags": {"host": "web01"}}]`)
		}, "m 1356998400 0.36 host=web01\nm 1356998415 17 host=web01\n"},
		{"scollector", func(t *testing.T, address string) {
			postRaw(t, address, "/api/put", map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip", "User-Agent": "scollector/0.8"}, http.StatusNoContent,
				`[{"metric":"m","timestamp":1356998400,"value":12,"tags":{"host":"web01"}},{"metric":"m","timestamp":1356998415,"value":12.5,"tags":{"host":"web01"}}]`)
		}, "m 1356998400 12.0 host=web01\nm 1356998415 12.5 host=web01\n"},
		{"telegraf by HTTP", func(t *testing.T, address string) {
			postRaw(t, address, "/api/put", map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, http.StatusNoContent,
				`[{"metric":"m","timestamp":1356998400,"value":0.00012,"tags":{"cpu":"cpu-total","host":"web01"}}]`)
		}, "m 1356998400 1.2E-4 cpu=cpu-total host=web01\n"},
		{"telegraf and Flume by telnet", func(t *testing.T, address string) {
			conn := dial(t, address)
			write(t, conn, "put m 1356998400 99.5 cpu=cpu-total host=web01\n")
			write(t, conn, "put m 1356998410 1e+06 cpu=cpu-total host=web01\r\nput m 13569")
			write(t, conn, "98420 -1 cpu=cpu-total host=web01\r\n")
			closeWrite(t, conn)
		}, "m 1356998400 99.5 cpu=cpu-total host=web01\nm 1356998410 1000000.0 cpu=cpu-total host=web01\nm 1356998420 -1 cpu=cpu-total host=web01\n"},
		{"collectd's write_tsdb", func(t *testing.T, address string) {
			conn := dial(t, address)
			write(t, conn, "put m 1356998400 0.000000 fqdn=web01.example.org \r\nput m 1356998410 12.345678 fqdn=web01.example.org\r\n")
			closeWrite(t, conn)
		}, "m 1356998400 0.0 fqdn=web01.example.org\nm 1356998410 12.345678 fqdn=web01.example.org\n"},
		{"milliseconds", func(t *testing.T, address string) {
			postRaw(t, address, "/api/put?summary", nil, http.StatusOK, `{"metric":"m","timestamp":1356998400250,"value":1,"tags":{"host":"web01"}}`)
		}, "m 1356998400 1 host=web01\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := tsdtest.Start(t)
			c.send(t, address)
			got, status := "", 0
			for begin := time.Now(); got != c.want && time.Since(begin) < 20*time.Second; time.Sleep(time.Millisecond) { // telnet does not answer
				status, got = tsdtest.Ask(t, "GET", "http://"+address+"/q?start=1356998300&end=1356998500&m=none:m&ascii", "")
			}
			if got != c.want {
				t.Errorf("%d %s, want %s", status, got, c.want)
			}
		})
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func closeWrite(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

func postRaw(t *testing.T, address, path string, headers map[string]string, status int, body string) {
	t.Helper()
	var content io.Reader = strings.NewReader(body)
	if headers["Content-Encoding"] == "gzip" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = io.WriteString(w, body)
		_ = w.Close()
		content = &packed
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, content)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	if got, _, text := tsdtest.Exchange(t, r); got != status {
		t.Fatalf("%d %s, want %d", got, text, status)
	}
}
