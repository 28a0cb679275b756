package migrate

import (
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/commands/commandstest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// runAdapter runs an adapter until stop is called or the test ends, and waits until it is ready.
func runAdapter(t *testing.T, o adapter.Options) (a *adapter.Adapter, stop func()) {
	t.Helper()
	o.ListenAddress = "127.0.0.1:0"
	a, err := adapter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a, commandstest.Serve(t, a)
}

// storeOptions returns a store of its own that is written through a log.
func storeOptions(t *testing.T, mode storage.WriteMode) adapter.Options {
	t.Helper()
	o := adapter.DefaultOptions()
	o.Path, o.WriteMode, o.AdminAPI = filepath.Join(t.TempDir(), "store"), string(mode), true
	return o
}

// serversTree is a tree in the configuration.
const serversTree = "- {name: servers, path: 'servers.{host}.{metric...}'}\n"

// readTrees reads trees as they are in the configuration.
func readTrees(t *testing.T, text string) []adapter.TreeConfig {
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
