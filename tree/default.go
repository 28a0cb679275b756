package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The default tree contains carbon's names without tags: a series that is only a metric has its
// path there, the metric cut at its dots. It is a tree like others, so that a TSD can browse it,
// but not enabled, so that a TSD appends nothing to it. It differs from what a TSD makes of its
// rule in two ways, so that each name keeps a path of its own: equal names in a row stay apart
// (a.a.b is not a.b), and a name without a dot is a leaf of the root.

// A defaultTree is what is known of the default tree: nothing, the tree, or why it cannot be used.
type defaultTree struct {
	tree *Tree
	err  error
}

// defaultRule returns the one rule of a default tree.
func defaultRule(id uint16) schema.TreeRule {
	return schema.TreeRule{TreeID: int(id), Type: ruleMetric, Separator: `\.`, Description: "the elements of the metric"}
}

// errOtherRules is about a tree of that name that was made for something else.
var errOtherRules = errors.New(`has other rules than METRIC with the separator \. at level 0`)

// defaultOf finds the default tree, the first of several of its name. One without rules is not
// finished yet.
func (o *Options) defaultOf(trees []*Tree, broken []Broken) defaultTree {
	if o.DefaultTree == "" {
		return defaultTree{}
	}
	for _, b := range broken {
		if b.Name == o.DefaultTree {
			return defaultTree{err: fmt.Errorf("default tree: %w", b.Err)}
		}
	}
	for _, t := range trees {
		if t.def.Name != o.DefaultTree {
			continue
		}
		rules := t.Rules()
		if len(rules) == 0 {
			return defaultTree{}
		}
		if r := rules[0]; len(rules) > 1 || r.Type != ruleMetric || r.Separator != `\.` || r.Regex != "" || r.DisplayFormat != "" {
			return defaultTree{err: fmt.Errorf("default tree: tree %d (%s) %w: name another one", t.id, t.def.Name, errOtherRules)}
		}
		t.plain = true
		return defaultTree{tree: t}
	}
	return defaultTree{}
}

func (f *Forest) isPlain(s storage.Series) bool {
	return f.o.DefaultTree != "" && f.o.Plain != nil && f.o.Plain(s)
}

// plain appends plain series to the default tree.
func (p *observation) plain(ctx context.Context, series []NewSeries) error {
	var t *Tree
	for _, s := range series {
		if !p.forest.isPlain(s.Series) {
			continue
		}
		if t == nil {
			var err error
			if t, err = p.forest.defaultTree(ctx); err != nil {
				return err
			}
		}
		p.todo = append(p.todo, insertion{tree: t, tsuid: s.TSUID, series: s.Series, route: plainRoute(s.Metric)})
	}
	return nil
}

// plainRoute returns the way to a metric under its own name. A name of nothing but dots is its own
// leaf.
func plainRoute(metric string) Route {
	elements := elementsOf(metric)
	switch len(elements) {
	case 0:
		return Route{Outcome: OnRoot, Leaf: metric}
	case 1:
		return Route{Outcome: OnRoot, Leaf: elements[0]}
	}
	last := len(elements) - 1
	return shallow(Route{Outcome: Stored, Branches: elements[:last], Leaf: elements[last]})
}

// elementsOf cuts a metric at its dots and leaves out what is empty.
func elementsOf(metric string) []string {
	elements := make([]string, 0, strings.Count(metric, ".")+1)
	for metric != "" {
		var element string
		if element, metric, _ = strings.Cut(metric, "."); element != "" {
			elements = append(elements, element)
		}
	}
	return elements
}

// mostBranches is the greatest depth of a leaf. A branch's row contains its whole path, so that
// rows grow with the square of the depth: a carbon line with 8000 dots would write half a gigabyte.
const mostBranches = 64

// shallow turns a path that is too deep into a leaf with dots in its name. Find treats each element
// of it as if it were a branch.
func shallow(r Route) Route {
	if len(r.Branches) > mostBranches {
		r.Leaf = strings.Join(append(r.Branches[mostBranches:len(r.Branches):len(r.Branches)], r.Leaf), ".")
		r.Branches = r.Branches[:mostBranches]
	}
	return r
}

// defaultTree gives the default tree, which is made if there is none.
func (f *Forest) defaultTree(ctx context.Context) (*Tree, error) {
	if known := f.knownDefault(); known.tree != nil || known.err != nil {
		return known.tree, known.err
	}
	select {
	case f.making <- struct{}{}:
		defer func() { <-f.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// This process or another one may have made it since.
	if err := f.LoadTrees(ctx); err != nil {
		return nil, err
	}
	if known := f.knownDefault(); known.tree != nil || known.err != nil {
		return known.tree, known.err
	}
	if err := f.makeDefault(ctx); err != nil {
		return nil, fmt.Errorf("make the default tree %s: %w", f.o.DefaultTree, err)
	}
	if err := f.LoadTrees(ctx); err != nil {
		return nil, err
	}
	known := f.knownDefault()
	if known.tree == nil && known.err == nil {
		return nil, fmt.Errorf("default tree %s: deleted as soon as it was made", f.o.DefaultTree)
	}
	return known.tree, known.err
}

func (f *Forest) knownDefault() defaultTree {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.plainTree
}

// makeDefault makes the default tree, or gives one without rules its rule.
func (f *Forest) makeDefault(ctx context.Context) error {
	d := NewDefinitions(f.db, f.o.TreeTable)
	id, err := d.ensure(ctx, schema.Tree{Name: f.o.DefaultTree, Description: "Graphite names as they were sent", StoreFailures: true})
	if err != nil {
		return err
	}
	return d.PutRule(ctx, id, defaultRule(id))
}
