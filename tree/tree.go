// Package tree gives series dotted paths by the rules of OpenTSDB's trees. The rules of a tree make
// names of a series' metric, tags and custom fields; the last name is a leaf, the names before it are
// branches. Rules that lose nothing are also read backwards, which turns a dotted name into metric
// and tags.
//
// It is pure: package forest keeps the branches and leaves in tables, package glob matches patterns.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Definition is a tree as it is stored or declared.
type Definition struct {
	ID uint16
	schema.Tree
	Rules []schema.TreeRule
	// Sum means that render returns the series of one path as their sum.
	Sum bool
}

// A Tree is a compiled definition. It does not change and is safe for concurrent use.
type Tree struct {
	id     uint16
	def    schema.Tree
	levels [][]*rule // ascending, within a level in the order of trying

	display Display
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
	t.display = displayOf(t.levels, d.Sum)
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

// HasRules reports whether the tree has rules.
func (t *Tree) HasRules() bool { return len(t.levels) > 0 }

// IsActive reports whether new series get leaves by the rules: the tree is enabled and has some.
func (t *Tree) IsActive() bool { return t.def.Enabled && t.HasRules() }

// EachCustom calls visit for each name whose custom fields a rule reads for one of the series.
func (t *Tree) EachCustom(series []storage.Series, visit func(kind storage.NameKind, name string)) {
	for _, level := range t.levels {
		for _, r := range level {
			if !r.custom() {
				continue
			}
			for i := range series {
				if kind, name, ok := r.described(Subject{Series: series[i]}); ok {
					visit(kind, name)
				}
			}
		}
	}
}

// CheckLoadable returns why no TSD can load a rule, or why only Java can run it.
func CheckLoadable(doc schema.TreeRule) error {
	_, err := compileRule(1, doc)
	return err
}

// CheckRule returns what is wrong with one rule: what no TSD can load, and what can never match.
// Check does so for a whole tree.
func CheckRule(doc schema.TreeRule) error {
	r, err := compileRule(1, doc)
	if err != nil {
		return err
	}
	return r.check()
}

// MostNames returns a number of names that the tree's path of a series never exceeds.
func (t *Tree) MostNames(s *storage.Series) int {
	most := len(t.levels) + len(s.Tags)
	for _, level := range t.levels {
		for _, r := range level {
			switch r.Separator {
			case "":
			case `\.`:
				most += strings.Count(s.Metric, ".")
				for _, tag := range s.Tags {
					most += strings.Count(tag.Key, ".") + strings.Count(tag.Value, ".")
				}
			default:
				most += MaxBranches
			}
		}
	}
	return most
}
