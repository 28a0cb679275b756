package tree

import (
	"context"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An Explanation is the way of a series through a tree.
type Explanation struct {
	Tree  *Tree
	Route Route
	// Messages are those of a TSD's /api/tree/test, word for word.
	Messages []string

	shown func(stored string) string
}

// Explain runs a series through the rules of one tree. Its path is of stored names.
func (t *Tree) Explain(s Subject) Explanation { return t.explain(s, nil) }

// explain is Explain until done is closed; then it is not whole.
func (t *Tree) explain(s Subject, done <-chan struct{}) Explanation {
	said := &transcript{done: done}
	return Explanation{Tree: t, Route: t.route(s, said), Messages: said.lines, shown: asStored}
}

// Explain runs a series through all trees, those that are not enabled too, and writes nothing. A
// series that does not exist yet may come without a TSUID.
func (f *Forest) Explain(ctx context.Context, series NewSeries) ([]Explanation, error) {
	trees := f.Trees()
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, trees, []storage.Series{series.Series})
	if err != nil {
		return nil, err
	}
	var all []Explanation
	for _, t := range trees {
		x, err := f.explain(ctx, t, series, custom)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// explain runs a series through one tree of the forest.
func (f *Forest) explain(ctx context.Context, t *Tree, series NewSeries, custom *customs) (Explanation, error) {
	e := t.explain(Subject{TSUID: series.TSUID, Series: series.Series, Custom: custom.of, Rest: f.o.Rest}, ctx.Done())
	if err := ctx.Err(); err != nil {
		return e, fmt.Errorf("run %s through the rules: %w", series.Metric, err)
	}
	if e.shown = f.o.Shown; t.plain && f.isPlain(series.Series) {
		e.Route, e.Messages = plainRoute(series.Metric), []string{"A name without tags: each element is a branch, the last one the leaf"}
	}
	return e, nil
}

// Explain runs series through the rules of a tree as the table has it now, enabled or not, and
// writes nothing.
func (e *Editor) Explain(ctx context.Context, id uint16, series []NewSeries) ([]Explanation, error) {
	d, err := e.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := Compile(d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	f := e.service.forest
	t.plain = f.o.DefaultTree != "" && d.Name == f.o.DefaultTree
	return f.explainAll(ctx, t, series)
}

// Path returns the dotted path that finds the series, "" when the tree has no place for it.
func (e Explanation) Path() string {
	if e.Route.Outcome != Stored && e.Route.Outcome != OnRoot {
		return ""
	}
	return e.Route.path(e.shown)
}

// String tells it rule by rule, a line each, and ends with where it leads.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %d (%s)", e.Tree.id, e.Tree.def.Name)
	if !e.Tree.def.Enabled {
		b.WriteString(", not enabled")
	}
	for _, m := range e.Messages {
		fmt.Fprintf(&b, "\n  %s", m)
	}
	fmt.Fprintf(&b, "\n%s", e.Route.Outcome)
	switch {
	case e.Route.Outcome == Failed:
		fmt.Fprintf(&b, ": %s", e.Route.Unmatched)
	case e.Route.Unmatched != "":
		fmt.Fprintf(&b, "; not matched: %s", e.Route.Unmatched)
	}
	if path := e.Path(); path != "" {
		row := schema.BranchRow(e.Tree.id, e.Route.Branches...)
		fmt.Fprintf(&b, "\npath %s\nrow %X column leaf:%08X\n", path, row, schema.NameHash(e.Route.Leaf))
		return b.String()
	}
	b.WriteByte('\n')
	return b.String()
}

// Try runs series through the rules of a definition that is stored nowhere, and writes nothing. An error is about the
// definition, unless it is one of the store's.
func (f *Forest) Try(ctx context.Context, d Definition, series []NewSeries) ([]Explanation, error) {
	t, err := Compile(d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return f.explainAll(ctx, t, series)
}

// explainAll runs series through one tree.
func (f *Forest) explainAll(ctx context.Context, t *Tree, series []NewSeries) ([]Explanation, error) {
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, []*Tree{t}, names)
	if err != nil {
		return nil, err
	}
	all := make([]Explanation, len(series))
	for i := range series {
		if all[i], err = f.explain(ctx, t, series[i], custom); err != nil {
			return nil, err
		}
	}
	return all, nil
}
