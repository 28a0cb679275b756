// Package commandstest runs adapters and commands for the tests of the rooms of commands.
package commandstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/commands"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Code runs a command and returns its exit code and all that it prints, the last error included.
func Code(t *testing.T, command func(commands.Console) error) (code int, out string) {
	t.Helper()
	var text, said strings.Builder
	err := command(commands.Console{Out: &text, Err: &said})
	if exit, ok := errors.AsType[*commands.ExitError](err); ok {
		return exit.Code, fmt.Sprintf("%s%s%v", text.String(), said.String(), exit.Err)
	}
	if err != nil {
		t.Fatalf("not an exit code: %v", err)
	}
	return 0, text.String() + said.String()
}

// Run runs an adapter until stop is called or the test ends, and waits until it is ready.
func Run(t *testing.T, o adapter.Options) (a *adapter.Adapter, stop func()) {
	t.Helper()
	o.ListenAddress = "127.0.0.1:0"
	a, err := adapter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	for err := a.Ready(t.Context()); err != nil; err = a.Ready(t.Context()) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	return a, stop
}

// StoreOptions returns a store of its own that is written through a log.
func StoreOptions(t *testing.T, mode storage.WriteMode) adapter.Options {
	t.Helper()
	o := adapter.DefaultOptions()
	o.Path, o.WriteMode, o.AdminAPI = filepath.Join(t.TempDir(), "store"), string(mode), true
	return o
}

// Text returns the answer of an adapter to a GET.
func Text(t *testing.T, a *adapter.Adapter, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + a.Addr() + path)
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

// ServersTree is a tree in the configuration.
const ServersTree = "- {name: servers, path: 'servers.{host}.{metric...}'}\n"

// Trees reads trees as they are in the configuration.
func Trees(t *testing.T, text string) []adapter.TreeConfig {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	all, err := adapter.ParseTrees(node.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
