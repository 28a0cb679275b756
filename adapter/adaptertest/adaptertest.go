// Package adaptertest runs adapters for the tests of rooms that use them.
package adaptertest

import (
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Run runs an adapter until stop is called or the test ends, and waits until it is ready.
func Run(t *testing.T, o adapter.Options) (a *adapter.Adapter, stop func()) {
	t.Helper()
	o.ListenAddress = "127.0.0.1:0"
	a, err := adapter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a, servertest.Serve(t, a)
}

// Trees reads trees as they are in the configuration file.
func Trees(t *testing.T, text string) []config.Tree {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	all, err := config.ParseTrees(node.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Options returns those of a store of its own, with the admin API.
func Options(t *testing.T, mode write.Mode) adapter.Options {
	t.Helper()
	o := adapter.DefaultOptions()
	o.Path, o.WriteMode, o.AdminAPI = filepath.Join(t.TempDir(), "store"), string(mode), true
	return o
}

// AppendPoint has a store take a point of a series.
func AppendPoint(t *testing.T, store *store.Store, series storage.Series, at int64, value float64) {
	t.Helper()
	refs, errs := store.Resolve(t.Context(), []storage.Series{series})
	if errs != nil {
		t.Fatal(errs)
	}
	var b storage.Batch
	b.Add(refs[0], at, value)
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}
