package rules

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// mostAliased is how many nodes the aliases of a file may stand for.
const mostAliased = 400_000

// withoutAliases returns a copy of a document in which aliases and merges are what they stand for. What an anchor names may be
// used in groups of several languages.
func withoutAliases(top *yaml.Node) (*yaml.Node, error) {
	if !hasAliases(top) {
		return top, nil
	}
	c := copier{left: mostAliased, under: map[*yaml.Node]bool{}}
	return c.copy(top, false)
}

func hasAliases(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAliases)
}

// A copier copies nodes.
type copier struct {
	left  int                 // how many more aliases may stand for
	under map[*yaml.Node]bool // nodes that are being copied
}

func (c *copier) copy(n *yaml.Node, aliased bool) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		return c.copy(n.Alias, true)
	}
	if aliased {
		c.left--
	}
	switch {
	case c.left < 0:
		return nil, errors.New("the document contains excessive aliasing")
	case c.under[n]:
		return nil, fmt.Errorf("line %d: anchor %q contains itself", n.Line, n.Anchor)
	}
	c.under[n] = true
	defer delete(c.under, n)
	made := *n
	made.Anchor, made.Content = "", nil
	var merged []*yaml.Node
	for i, part := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && isMerge(part) || n.Kind == yaml.MappingNode && i%2 == 1 && isMerge(n.Content[i-1]) {
			if !isKey {
				merged = append(merged, part)
			}
			continue
		}
		copied, err := c.copy(part, aliased)
		if err != nil {
			return nil, err
		}
		made.Content = append(made.Content, copied)
	}
	for _, from := range merged {
		if err := c.merge(&made, from, aliased); err != nil {
			return nil, err
		}
	}
	return &made, nil
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

// merge adds the keys of a mapping, or of a list of them, that another one lacks.
func (c *copier) merge(into, from *yaml.Node, aliased bool) error {
	copied, err := c.copy(from, aliased)
	if err != nil {
		return err
	}
	list := []*yaml.Node{copied}
	if copied.Kind == yaml.SequenceNode {
		list = copied.Content
	}
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: map merge requires map or sequence of maps as the value", from.Line)
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if below(into, m.Content[i].Value).Kind == 0 {
				into.Content = append(into.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
	return nil
}
