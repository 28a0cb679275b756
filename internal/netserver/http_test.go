package netserver

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serve serves a handler over a Port.
func serve(t *testing.T, headBytes int, h http.HandlerFunc) (addr string) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := NewPort(tcp, PortOptions{
		What: "test", Flag: "--test", Max: 10, HeadBytes: headBytes, Name: "test", Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener, s.Config.ConnContext = port, WithConn
	s.Start()
	t.Cleanup(s.Close)
	return port.Addr().String()
}

func dial(t *testing.T, addr, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func status(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// Heads beyond the port's memory for all heads are cut off; bodies and heads of usual length do not
// count.
func TestHeadsAreBounded(t *testing.T) {
	addr := serve(t, 20<<10, func(w http.ResponseWriter, r *http.Request) {
		conn := ConnOf(r.Context())
		conn.Headed()
		defer conn.Answered()
		conn.Begin()
		defer conn.End(true)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	request := func(head, body int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nX: %s\r\nContent-Length: %d\r\n\r\n%s", strings.Repeat("x", head), body, strings.Repeat("y", body))
	}
	conn, r := dial(t, addr, request(10, 100_000)+request(15<<10, 100_000)+request(10, 0))
	for i := range 3 {
		if got := status(t, r); got != http.StatusNoContent {
			t.Errorf("request %d: %d", i, got)
		}
	}
	_ = conn.Close()
	_, r = dial(t, addr, strings.TrimSuffix(request(60<<10, 0), "\r\n\r\n"))
	if got := status(t, r); got == http.StatusNoContent {
		t.Error("a head of 60 KiB is taken by a port with 20 KiB")
	}
}

// A client that is refused before it has sent everything gets its answer; a client that asked first
// (Expect: 100-continue) sends nothing.
func TestDrain(t *testing.T) {
	addr := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		Drain(w, r)
	})
	_, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"+strings.Repeat("x", 3_000_000)+"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	for i := range 2 {
		if got := status(t, r); got != http.StatusRequestEntityTooLarge {
			t.Errorf("request %d: %d", i, got)
		}
	}
	_, r = dial(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n")
	if got := status(t, r); got != http.StatusRequestEntityTooLarge {
		t.Errorf("expecting: %d", got)
	}
}

// A body is read within the gate, and its deadline ends with it.
func TestReceive(t *testing.T) {
	gate := NewGate(10, 1<<20)
	addr := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
		s := &Share{Gate: gate}
		defer s.Release()
		body, err := Receive(nil, w, r, 1000, s)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body)
	})
	_, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if string(text) != "hello" {
		t.Errorf("echo of hello is %d %s", res.StatusCode, text)
	}
	_, r = dial(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n"+strings.Repeat("x", 2000))
	if got := status(t, r); got != http.StatusBadRequest {
		t.Errorf("too long: %d", got)
	}
	for begin := time.Now(); gate.Bytes() > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d bytes are held", gate.Bytes())
		}
	}
}
