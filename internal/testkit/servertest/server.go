// Package servertest runs adapters and copies their stores for tests. It imports no adapter, whose own
// tests use it.
package servertest

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
)

// A Server is an adapter.
type Server interface {
	Run(ctx context.Context) error
	Ready(ctx context.Context) error
	Addr() string
}

// Serve runs a server until stop is called or the test ends, and waits until it is ready.
func Serve(t *testing.T, s Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	for err := s.Ready(t.Context()); err != nil; err = s.Ready(t.Context()) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	return stop
}

// Text returns the answer of a server to a GET.
func Text(t *testing.T, s Server, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", path, resp.Status, body, err)
	}
	return string(body)
}
