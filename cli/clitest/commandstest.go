// Package clitest runs adapters and commands for their tests. It imports no adapter, whose own tests use it.
package clitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/cli/command"
)

// Code runs a command and returns its exit code and all that it prints, the last error included.
func Code(t *testing.T, run func(command.Console) error) (code int, out string) {
	t.Helper()
	var text, said strings.Builder
	err := run(command.Console{Out: &text, Err: &said})
	if exit, ok := errors.AsType[*command.ExitError](err); ok {
		return exit.Code, fmt.Sprintf("%s%s%v", text.String(), said.String(), exit.Err)
	}
	if err != nil {
		t.Fatalf("not an exit code: %v", err)
	}
	return 0, text.String() + said.String()
}

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
