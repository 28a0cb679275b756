package forest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
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
		if t.Definition().Name != o.DefaultTree {
			continue
		}
		rules := t.Rules()
		if len(rules) == 0 {
			return defaultTree{}
		}
		if !tree.HasDefaultRule(rules) {
			return defaultTree{err: fmt.Errorf("default tree: tree %d (%s) %w: name another one", t.ID(), t.Definition().Name, errOtherRules)}
		}
		t.plain = true
		return defaultTree{tree: t}
	}
	return defaultTree{}
}

func (f *planted) isPlain(s storage.Series) bool {
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
		p.todo = append(p.todo, insertion{tree: t, tsuid: s.TSUID, series: s.Series, route: tree.PlainRoute(s.Metric)})
	}
	return nil
}

// defaultTree gives the default tree, which is made if there is none.
func (f *planted) defaultTree(ctx context.Context) (*Tree, error) {
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

func (f *planted) knownDefault() defaultTree {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.plainTree
}

// makeDefault makes the default tree, or gives one without rules its rule.
func (f *planted) makeDefault(ctx context.Context) error {
	d := NewDefinitions(f.db, f.o.TreeTable)
	id, err := d.ensure(ctx, schema.Tree{Name: f.o.DefaultTree, Description: "Graphite names as they were sent", StoreFailures: true})
	if err != nil {
		return err
	}
	return d.PutRule(ctx, id, tree.DefaultRule(id))
}
