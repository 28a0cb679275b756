package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/adapter"
)

// Keys of the file that are no flags.
const (
	treesKey     = "trees"     // the trees to declare
	retentionKey = "retention" // how long points of which series are kept
	rollupsKey   = "rollups"   // which rollup tables are filled from points
)

// fromFile returns the flags that the configuration file sets and the command line does not.
func (p *parser) fromFile(given *kingpin.ParseContext) ([]string, error) {
	set := map[string]bool{}
	path := ""
	for _, e := range given.Elements {
		if f, ok := e.Clause.(*kingpin.FlagClause); ok {
			name := f.Model().Name
			set[name] = true
			if name == "config.file" && e.Value != nil {
				path = *e.Value
			}
		}
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config.file: %w", err)
	}
	flags, err := p.parseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("--config.file=%s: %w", path, err)
	}
	return slices.DeleteFunc(flags, func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		return set[strings.TrimPrefix(name, "no-")] || set[name]
	}), nil
}

// parseConfig converts YAML into flags of the form --name=value. Keys are names of flags; "a.b: x"
// and "a: {b: x}" are equal.
func (p *parser) parseConfig(text []byte) ([]string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, nil // an empty file
	}
	return p.flatten(nil, "", root.Content[0])
}

func (p *parser) flatten(flags []string, name string, node *yaml.Node) ([]string, error) {
	var err error
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content) && err == nil; i += 2 {
			key := node.Content[i].Value
			if name == "" && key == treesKey {
				p.options.Graphite.Trees, err = adapter.ParseTrees(node.Content[i+1])
				continue
			}
			if name == "" && key == retentionKey {
				p.options.RetentionRules, err = adapter.ParseRetention(node.Content[i+1])
				continue
			}
			if name == "" && key == rollupsKey {
				p.options.FillRules, err = adapter.ParseFill(node.Content[i+1])
				continue
			}
			if name != "" {
				key = name + "." + key
			}
			flags, err = p.flatten(flags, key, node.Content[i+1])
		}
		return flags, err
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: %s: want a list of plain values", item.Line, name)
			}
			if flags, err = p.flatten(flags, name, item); err != nil {
				return nil, err
			}
		}
		return flags, nil
	case yaml.ScalarNode:
		if err := retiredError("", name); err != nil {
			return nil, fmt.Errorf("line %d: %w", node.Line, err)
		}
		if p.app.GetFlag(name) == nil || name == "config.file" || name == "help" {
			return nil, p.withNeighbour(fmt.Errorf("line %d: there is no option %q", node.Line, name), "", name, p.flagNames(nil))
		}
		flag := "--" + name + "="
		repeated := slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, flag) })
		if list, ok := p.app.GetFlag(name).Model().Value.(interface{ IsCumulative() bool }); repeated && (!ok || !list.IsCumulative()) {
			return nil, fmt.Errorf("line %d: option %q is set twice", node.Line, name)
		}
		return append(flags, flag+node.Value), nil
	}
	return nil, fmt.Errorf("line %d: %s: want a plain value", node.Line, name)
}
