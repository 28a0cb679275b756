package opentsdb_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestOptionsName the flag that cannot work; without an address none matters.
func TestOptionsName(t *testing.T) {
	for _, c := range []struct {
		address string
		change  func(*opentsdb.Options)
		want    string // part of the error; empty: none
	}{
		{"127.0.0.1:0", func(*opentsdb.Options) {}, ""},
		{"127.0.0.1:0", func(o *opentsdb.Options) { o.MaxConnections = 0 }, "--opentsdb.max-connections"},
		{"127.0.0.1:0", func(o *opentsdb.Options) { o.MaxTags = 0 }, "--opentsdb.max-tags"},
		{"", func(o *opentsdb.Options) { o.MaxConnections, o.MaxTags = 0, 0 }, ""},
	} {
		o := tsdtest.Options(c.address)
		c.change(&o)
		err := o.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate at %q = %v, want %q", c.address, err, c.want)
		}
	}
}

// TestServer serves telnet and HTTP on one port, and unbinds it in the end.
func TestServer(t *testing.T) {
	o, points := tsdtest.Options("127.0.0.1:0"), opentsdbtest.NewMemory()
	o.Points = points
	s, err := opentsdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.DropCaches()
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	point := `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`
	response, err := http.Post("http://"+s.Addr()+"/api/put", "application/json", strings.NewReader(point))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	points.Mu.Lock()
	if response.StatusCode != http.StatusNoContent || len(points.Points) != 1 {
		t.Errorf("a put of one point = %d, points %q", response.StatusCode, points.Points)
	}
	points.Mu.Unlock()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "version\nexit\n")
	text, err := io.ReadAll(c)
	_ = c.Close()
	if err != nil || !strings.Contains(string(text), "1.2.3") {
		t.Errorf("version = %q, %v", text, err)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		_ = c.Close()
		t.Error("the port is bound after the end")
	}
}

// TestServerWithoutAddress does nothing, and answers nothing.
func TestServerWithoutAddress(t *testing.T) {
	s, err := opentsdb.New(tsdtest.Options(""))
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	s.Routes(r)
	s.DropCaches()
	if n := len(r.Routes()); n != 0 || s.Addr() != "" {
		t.Errorf("%d routes, address %q", n, s.Addr())
	}
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestServerThatNeverRan unbinds its port on Close, and a port that is taken is an error.
func TestServerThatNeverRan(t *testing.T) {
	s, err := opentsdb.New(tsdtest.Options("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opentsdb.New(tsdtest.Options(s.Addr())); err == nil {
		t.Error("two servers bind one port")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		_ = c.Close()
		t.Error("the port is bound after Close")
	}
}
