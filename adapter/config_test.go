package adapter

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// parsed reads a value of the configuration file.
func parsed[T any](t *testing.T, parse func(*yaml.Node) (T, error), text string) (T, error) {
	t.Helper()
	var top yaml.Node
	if err := yaml.Unmarshal([]byte(text), &top); err != nil {
		t.Fatal(err)
	}
	return parse(top.Content[0])
}
