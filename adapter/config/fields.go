package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFields are the keys that a mapping may have, and what reads their values.
type yamlFields map[string]func(*yaml.Node) error

func (f yamlFields) read(node *yaml.Node, what string) error {
	node = aliased(node)
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("want %s: keys and values", what)
	}
	var wrong []string
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], aliased(node.Content[i+1])
		read, ok := f[key.Value]
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("%s has no %q", what, key.Value)
		case seen[key.Value]:
			err = fmt.Errorf("%s is set twice", key.Value)
		default:
			if err = read(value); err != nil {
				err = fmt.Errorf("%s: %w", key.Value, err)
			}
		}
		switch {
		case err != nil && key.Line == node.Line: // the caller adds the line
			wrong = append(wrong, err.Error())
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("line %d: %v", key.Line, err))
		}
		seen[key.Value] = true
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// aliased returns the node that an alias (*name) stands for.
func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func yamlText(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return errors.New("want a plain value")
		}
		*to = n.Value
		return nil
	}
}

func yamlFlag(to *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Decode(to) != nil {
			return fmt.Errorf("%q: want true or false", n.Value)
		}
		return nil
	}
}

func yamlSeveral(sum *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if *sum = n.Value == "sum"; !*sum && n.Value != "apart" {
			return fmt.Errorf("%q: want apart or sum", n.Value)
		}
		return nil
	}
}

func yamlNumber(to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		i, err := strconv.ParseUint(n.Value, 10, 31)
		if n.Kind != yaml.ScalarNode || err != nil {
			return fmt.Errorf("%q: want a number from 0 on", n.Value)
		}
		*to = int(i)
		return nil
	}
}

// yamlTexts reads a list of plain values.
func yamlTexts(to *[]string) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.SequenceNode {
			return errors.New("want a list of plain values")
		}
		for _, item := range node.Content {
			var text string
			if err := yamlText(&text)(aliased(item)); err != nil {
				return err
			}
			*to = append(*to, text)
		}
		return nil
	}
}

// yamlRules reads the rules of a list under a key. It reports all errors at once, each with its line. No two
// rules may be about the same, which named names in errors.
func yamlRules[R any](node *yaml.Node, key string, parse func(*yaml.Node) (R, error), named func(R) string) ([]R, error) {
	var rules []R
	var errs []error
	lines := map[string]int{}
	for _, item := range node.Content {
		r, err := parse(item)
		name := named(r)
		switch {
		case err != nil:
			err = fmt.Errorf("line %d: %s: %w", item.Line, key, err)
		case lines[name] > 0:
			err = fmt.Errorf("line %d: %s: %s is in line %d already", item.Line, key, name, lines[name])
		}
		errs = append(errs, err)
		lines[name] = item.Line
		rules = append(rules, r)
	}
	return rules, errors.Join(errs...)
}
