package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/trees"
)

// TestParseTrees runs the data file about trees in the configuration: YAML -> what is declared, or
// what is wrong.
func TestParseTrees(t *testing.T) {
	datadriven.RunTest(t, "testdata/trees", func(t *testing.T, d *datadriven.TestData) string {
		parsed, err := parseTreesText(t, d.Input)
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, tree := range parsed {
			document, err := json.Marshal(tree.Tree)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(document, '\n'))
			for _, r := range tree.Rules {
				out.WriteString("  rule " + trees.RuleText(r) + "\n")
			}
		}
		return out.String()
	})
}

func parseTreesText(t testing.TB, text string) ([]Tree, error) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) != 1 {
		return nil, err
	}
	return ParseTrees(root.Content[0])
}

// Whatever the YAML is, a tree is declared or refused; a declared tree has a name and rules.
func FuzzParseTrees(f *testing.F) {
	f.Add("- {name: a, rules: [{type: METRIC, separator: '\\.'}]}")
	f.Add("- {name: a, path: 'servers.{host}.{metric...}'}")
	f.Add("- &a {name: a, rules: [{type: TAGK, field: *a}]}")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseTreesText(t, text)
		if err != nil {
			return
		}
		for _, tree := range parsed {
			if tree.Name == "" || len(tree.Rules) == 0 {
				t.Errorf("%q declares %+v", text, tree)
			}
		}
	})
}
