package write

import (
	"cmp"
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// putRows puts whole rows as Append puts points: plainly where this process knows what the row
// holds, else read and merged.
func (t *Table) putRows(ctx context.Context, rows []head.Row, apply applyFunc, agesOf func(head.Row) []own.Age) error {
	w := t.appends.Get().(*tableAppend)
	defer t.appends.Put(w)
	w.reset(t)
	w.flush = true
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b head.Row) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Base, b.Base)) })
	for i := range rows {
		r := &rows[i]
		ref := storage.Ref(r.ID) + 1
		st := t.states.Of(index.IDOf(ref))
		if i == 0 || rows[i-1].ID != r.ID {
			st.mu.Lock()
			w.locked = append(w.locked, st)
		}
		w.rows = append(w.rows, rowWrite{
			ref: ref, state: st, base: r.Base, points: r.Points, objects: r.Objects, coded: r.Coded, first: r.First, last: r.Last, ages: agesOf(*r),
		})
	}
	defer w.unlock()
	if err := w.build(ctx); err != nil {
		return err
	}
	w.sortPuts()
	if err := w.put(ctx, apply); err != nil || t.db.Versioned == nil {
		return err
	}
	return w.verify(ctx, apply)
}
