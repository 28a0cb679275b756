package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// A Tree is one as the configuration file declares it, under the key trees:
//
//	trees:
//	  - name: machines
//	    description: by data centre, machine and metric
//	    strict: false         # true keeps out the series that a level does not match
//	    enabled: true
//	    storeFailures: false  # true keeps the series without a place in rows of their own
//	    several: apart        # sum draws the series of one path as their sum
//	    rules:
//	      - {level: 0, order: 0, type: TAGK, field: dc}
//	      - {level: 0, order: 1, type: TAGK, field: host, regex: '.*\.(.*)\.example\.com', regexGroup: 0}
//	      - {level: 1, type: TAGK, field: host, displayFormat: 'host {value}'}
//	      - {level: 2, type: METRIC, separator: '\.'}
//	  - name: servers
//	    path: 'servers.{host}.{metric...}.{tags...}'
//
// A rule without a level is on the one after that of the rule before it; order is 0, and the first
// group of a regex (regexGroup: 0) is taken, unless they are given. A path stands for the rules
// that make it.
type Tree struct {
	tree.Definition
	Path string // the template, "" for a tree of rules
	Line int    // where the tree is declared
}

// ParseTrees reads the list of trees. It reports all errors at once, each with its line and rule.
func ParseTrees(node *yaml.Node) ([]Tree, error) {
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: trees: want a list of trees", node.Line)
	}
	var trees []Tree
	var errs []error
	lines := map[string]int{}
	for _, item := range node.Content {
		t, err := parseTree(item)
		if err == nil && lines[t.Name] > 0 {
			err = fmt.Errorf("line %d: tree %s is declared in line %d already", t.Line, t.Name, lines[t.Name])
		}
		errs = append(errs, err)
		lines[t.Name] = item.Line
		trees = append(trees, t)
	}
	return trees, errors.Join(errs...)
}

// A treeReader reads the keys of a tree.
type treeReader struct {
	tree  Tree
	rules *yaml.Node
}

func (r *treeReader) fields() yamlFields {
	t := &r.tree
	return yamlFields{
		"name": yamlText(&t.Name), "description": yamlText(&t.Description), "notes": yamlText(&t.Notes), "strict": yamlFlag(&t.StrictMatch),
		"enabled": yamlFlag(&t.Enabled), "storeFailures": yamlFlag(&t.StoreFailures), "path": yamlText(&t.Path), "several": yamlSeveral(&t.Sum),
		"rules": func(n *yaml.Node) error { r.rules = n; return nil },
	}
}

func parseTree(node *yaml.Node) (Tree, error) {
	var r treeReader
	r.tree.Line = node.Line
	r.tree.ID, r.tree.Enabled = 1, true // the table assigns the id
	err := r.fields().read(node, "a tree")
	t, rules := r.tree, r.rules
	where := fmt.Sprintf("line %d: tree %s", t.Line, t.Name)
	switch {
	case t.Name == "" && err == nil:
		return t, fmt.Errorf("line %d: a tree has no name", t.Line)
	case err != nil:
		return t, fmt.Errorf("%s: %w", where, err)
	case t.Path != "" && rules != nil:
		return t, fmt.Errorf("%s: has a path and rules: a path stands for rules", where)
	case t.Path != "":
		if err := t.compilePath(); err != nil {
			return t, fmt.Errorf("%s: path %q: %w", where, t.Path, err)
		}
		return t, nil
	case rules == nil:
		return t, fmt.Errorf("%s: has neither rules nor a path", where)
	}
	if err := t.parseRules(rules); err != nil {
		return t, err
	}
	if err := tree.Check(t.Definition); err != nil {
		return t, fmt.Errorf("%s: %w", where, err)
	}
	return t, nil
}

func (t *Tree) parseRules(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		return fmt.Errorf("line %d: tree %s: rules: want a list of rules", node.Line, t.Name)
	}
	var errs []error
	lines := map[[2]int]int{}
	level := 0
	for _, item := range node.Content {
		r, err := parseRule(item, level)
		at := [2]int{r.Level, r.Order}
		level = r.Level + 1
		if err == nil {
			err = tree.CheckRule(r)
		}
		if err == nil && lines[at] > 0 {
			err = fmt.Errorf("line %d has a rule for this level and order already", lines[at])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: tree %s: rule %d:%d: %w", item.Line, t.Name, r.Level, r.Order, err))
		}
		lines[at] = item.Line
		t.Rules = append(t.Rules, r)
	}
	return errors.Join(errs...)
}

// A ruleReader reads the keys of a rule of a tree.
type ruleReader struct{ schema.TreeRule }

func (r *ruleReader) fields() yamlFields {
	return yamlFields{
		"level": yamlNumber(&r.Level), "order": yamlNumber(&r.Order), "type": yamlText(&r.Type), "field": yamlText(&r.Field),
		"separator": yamlText(&r.Separator), "regex": yamlText(&r.Regex), "regexGroup": yamlNumber(&r.RegexGroupIdx),
		"displayFormat": yamlText(&r.DisplayFormat), "customField": yamlText(&r.CustomField),
		"description": yamlText(&r.Description), "notes": yamlText(&r.Notes),
	}
}

func parseRule(node *yaml.Node, level int) (schema.TreeRule, error) {
	r := ruleReader{schema.TreeRule{Level: level}}
	err := r.fields().read(node, "a rule")
	r.Type = strings.ToUpper(r.Type) // as a TSD prints it
	return r.TreeRule, err
}

// compilePath makes rules of the template.
func (t *Tree) compilePath() error {
	template, err := tree.ParseTemplate(t.Path)
	if err != nil {
		return err
	}
	made := template.Definition(t.Name)
	t.Rules, t.StrictMatch, t.Description = made.Rules, made.StrictMatch, cmp.Or(t.Description, made.Description)
	return nil
}
