package forest

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Explain runs a series through all trees, those that are not enabled too, and writes nothing. A
// series that does not exist yet may come without a TSUID.
func (f *planted) Explain(ctx context.Context, series NewSeries) ([]tree.Explanation, error) {
	trees := f.Trees()
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, trees, []storage.Series{series.Series})
	if err != nil {
		return nil, err
	}
	var all []tree.Explanation
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
func (f *planted) explain(ctx context.Context, t *Tree, series NewSeries, custom *customs) (tree.Explanation, error) {
	e := t.Explain(tree.Subject{TSUID: series.TSUID, Series: series.Series, Custom: custom.of, Rest: f.o.Rest}, f.o.Shown, ctx.Done())
	if err := ctx.Err(); err != nil {
		return e, fmt.Errorf("run %s through the rules: %w", series.Metric, err)
	}
	if t.plain && f.isPlain(series.Series) {
		e.Route, e.Messages = tree.PlainRoute(series.Metric), []string{"A name without tags: each element is a branch, the last one the leaf"}
	}
	return e, nil
}

// Explain runs series through the rules of a tree as the table has it now, enabled or not, and
// writes nothing.
func (e *Editor) Explain(ctx context.Context, id uint16, series []NewSeries) ([]tree.Explanation, error) {
	d, err := e.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := compile(treeDefinition{Definition: d})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	f := e.service.forest
	t.plain = f.o.DefaultTree != "" && d.Name == f.o.DefaultTree
	return f.explainAll(ctx, t, series)
}

// Try runs series through the rules of a definition that is stored nowhere, and writes nothing. An error is about the
// definition, unless it is one of the store's.
func (f *planted) Try(ctx context.Context, d tree.Definition, series []NewSeries) ([]tree.Explanation, error) {
	t, err := compile(treeDefinition{Definition: d})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return f.explainAll(ctx, t, series)
}

// explainAll runs series through one tree.
func (f *planted) explainAll(ctx context.Context, t *Tree, series []NewSeries) ([]tree.Explanation, error) {
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, []*Tree{t}, names)
	if err != nil {
		return nil, err
	}
	all := make([]tree.Explanation, len(series))
	for i := range series {
		if all[i], err = f.explain(ctx, t, series[i], custom); err != nil {
			return nil, err
		}
	}
	return all, nil
}
