package adapter

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

	"github.com/tsdbridge/tsdbridge/storage"
)

// codeOf runs a command and returns its exit code and all that it prints, the last error included.
func codeOf(t *testing.T, command func(Console) error) (code int, out string) {
	t.Helper()
	var text, said strings.Builder
	err := command(Console{Out: &text, Err: &said})
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code, fmt.Sprintf("%s%s%v", text.String(), said.String(), exit.Err)
	}
	if err != nil {
		t.Fatalf("not an exit code: %v", err)
	}
	return 0, text.String() + said.String()
}

// run runs an adapter until stop is called or the test ends, and waits until it is ready.
func run(t *testing.T, o Options) (a *Adapter, stop func()) {
	t.Helper()
	o.ListenAddress = "127.0.0.1:0"
	a, err := New(o)
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
	for err := a.ready(t.Context()); err != nil; err = a.ready(t.Context()) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	return a, stop
}

// storeOptions returns a store of its own that is written through a log.
func storeOptions(t *testing.T, mode storage.WriteMode) Options {
	t.Helper()
	o := DefaultOptions()
	o.Path, o.WriteMode, o.AdminAPI = filepath.Join(t.TempDir(), "store"), string(mode), true
	return o
}

// textOf returns the answer of an adapter to a GET.
func textOf(t *testing.T, a *Adapter, path string) string {
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

// treeOfServers is a tree in the configuration.
const treeOfServers = "- {name: servers, path: 'servers.{host}.{metric...}'}\n"

// treesOf reads trees as they are in the configuration.
func treesOf(t *testing.T, text string) []TreeConfig {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	all, err := ParseTrees(node.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
