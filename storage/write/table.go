package write

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Table puts points into the rows of the data table. It reads a row before it writes it unless it
// knows what the row holds. It is safe for concurrent use.
type Table struct {
	db        *kv.Engine
	name      string
	layout    schema.Layout
	values    schema.Values
	exclusive bool // no other process writes
	appended  bool // points are put into append cells; others write
	index     *index.Index
	states    *index.Pages[state]
	registry  *catalog.Registry
	days      *catalog.Days // nil: others write, and keep none
	stamps    *stampClock
	verifier  verifier
	appends   sync.Pool     // *tableAppend
	reads     chan struct{} // one for each append that is reading rows
	metrics   *metrics
	logger    *slog.Logger
	now       func() time.Time
}

func newTable(o *Options, states *index.Pages[state], metrics *metrics) *Table {
	t := &Table{
		db: o.DB, name: o.Tables.Data, layout: o.Layout, values: o.Values, exclusive: o.DB.Exclusive, appended: o.AppendCells && o.DB.Versioned != nil, index: o.Series, states: states, registry: o.Registry, days: o.Days,
		stamps: &stampClock{wall: o.Now}, reads: make(chan struct{}, concurrentReads), metrics: metrics, logger: o.Logger, now: o.Now,
	}
	t.appends.New = func() any { return &tableAppend{} }
	return t
}

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
			w.held.lock(st)
		}
		w.rows = append(w.rows, rowWrite{
			ref: ref, state: st, base: r.Base, points: r.Points, objects: r.Objects, coded: r.Coded, first: r.First, last: r.Last, ages: agesOf(*r),
		})
	}
	defer w.held.unlock()
	if err := w.build(ctx); err != nil {
		return err
	}
	w.sortPuts()
	if err := w.put(ctx, apply); err != nil || t.db.Versioned == nil {
		return err
	}
	return w.verify(ctx, apply)
}
