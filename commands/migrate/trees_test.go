package migrate

import (
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/adapter"
)

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
