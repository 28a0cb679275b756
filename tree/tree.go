// Package tree gives series dotted paths in OpenTSDB's trees. It contains OpenTSDB's rule engine
// over the rows of tsdb-tree, and the globs that search them. The rules of a tree make names of a
// series' metric, tags and custom fields; the last name is a leaf, the names before it are
// branches. The rows equal a TSD's byte for byte, so that both build and browse the same trees.
//
// Rules that lose nothing are also read backwards, which turns a dotted name into metric and tags.
//
// The package never assigns a UID and never reads a point. Globs are answered from branches and
// leaves alone, never by inverting rules.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Definition is a tree as it is stored or declared.
type Definition struct {
	ID uint16
	schema.Tree
	Rules []schema.TreeRule
	// Sum means that render returns the series of one path as their sum.
	Sum bool

	mark    mark   // how far existing series were appended to it
	cleared string // when its branches were deleted last, see clear.go
}

// A Tree is a compiled definition. It does not change and is safe for concurrent use.
type Tree struct {
	id     uint16
	def    schema.Tree
	levels [][]*rule // ascending, within a level in the order of trying
	plain  bool      // it is the default tree of a forest

	display Display
	mark    mark
	cleared string
}

// ID returns the number of the tree, the first two bytes of its rows.
func (t *Tree) ID() uint16 { return t.id }

// Definition returns what was stored, without its rules.
func (t *Tree) Definition() schema.Tree { return t.def }

// Rules returns the rules in the order of trying.
func (t *Tree) Rules() []schema.TreeRule {
	var rules []schema.TreeRule
	for _, level := range t.levels {
		for _, r := range level {
			rules = append(rules, r.TreeRule)
		}
	}
	return rules
}

// Compile compiles a definition. It refuses what no TSD could load, and regular expressions that
// only Java can run. It accepts rules that a TSD loads although they can never match, see Check.
func Compile(d Definition) (*Tree, error) {
	if d.ID == 0 {
		return nil, errors.New("tree without an id")
	}
	t := &Tree{id: d.ID, def: d.Tree}
	rules := slices.Clone(d.Rules)
	slices.SortStableFunc(rules, func(a, b schema.TreeRule) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Order, b.Order))
	})
	for i := range rules {
		r, err := compileRule(d.ID, rules[i])
		if err != nil {
			return nil, fmt.Errorf("tree %d (%s): rule %d:%d: %w", d.ID, d.Name, rules[i].Level, rules[i].Order, err)
		}
		switch {
		case i == 0 || rules[i].Level != rules[i-1].Level:
			t.levels = append(t.levels, []*rule{r})
		case rules[i].Order == rules[i-1].Order:
			return nil, fmt.Errorf("tree %d (%s): rule %d:%d stands there twice", d.ID, d.Name, r.Level, r.Order)
		default:
			last := &t.levels[len(t.levels)-1]
			*last = append(*last, r)
		}
	}
	t.display, t.mark, t.cleared = displayOf(t.levels, d.Sum), d.mark, d.cleared
	return t, nil
}

// Check returns what is wrong with a declared tree: what Compile refuses, and rules that can never
// match.
func Check(d Definition) error {
	t, err := Compile(d)
	if err != nil {
		return err
	}
	var errs []error
	if d.Name == "" {
		errs = append(errs, fmt.Errorf("tree %d has no name", d.ID))
	}
	if len(t.levels) == 0 {
		errs = append(errs, fmt.Errorf("tree %d (%s) has no rules", d.ID, d.Name))
	}
	for _, level := range t.levels {
		for _, r := range level {
			if err := r.check(); err != nil {
				errs = append(errs, fmt.Errorf("tree %d (%s): rule %d:%d: %w", d.ID, d.Name, r.Level, r.Order, err))
			}
		}
	}
	if err := t.checkRest(); err != nil {
		errs = append(errs, fmt.Errorf("tree %d (%s): %w", d.ID, d.Name, err))
	}
	return errors.Join(errs...)
}

// needsCustom reports whether a rule reads the custom fields of UIDMeta documents.
func (t *Tree) needsCustom() bool {
	for _, level := range t.levels {
		for _, r := range level {
			if r.custom() {
				return true
			}
		}
	}
	return false
}
