package catalog

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// daysQualifier marks a store, in the counters' row, all of whose series were made by versions that
// keep active days: a series of such a store that has no days in tsdb-meta has no rows of points
// either. (Empty days in each new row of tsdb-meta would mean the same, but of two calls that
// create a series at once one could put them over the days of the first points.)
const daysQualifier = "tsdbridge.spans"

// Begin finds out, once, whether the store is so marked, and marks a store without series.
func (p *Days) Begin(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.begin.Lock()
	defer p.begin.Unlock()
	if p.begun {
		return nil
	}
	key := schema.MaxIDRow()
	rows, err := p.db.Get(ctx, p.tables.UID, schema.FamilyID, [][]byte{key})
	if err != nil {
		return fmt.Errorf("look whether days of series are kept: %w", err)
	}
	p.whole = slices.ContainsFunc(rows[0].Cells, func(c kv.Cell) bool { return string(c.Qualifier) == daysQualifier })
	if !p.whole {
		if p.whole, err = p.isEmpty(ctx); err != nil {
			return err
		}
		if p.whole {
			mark := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte(daysQualifier), Value: []byte{1}}}}
			if err := p.db.Apply(ctx, p.tables.UID, schema.FamilyID, []kv.Mutation{mark}); err != nil {
				return fmt.Errorf("note that days of series are kept: %w", err)
			}
		}
	}
	p.begun = true
	return nil
}

// isEmpty reports whether there are neither series nor points.
func (p *Days) isEmpty(ctx context.Context) (bool, error) {
	for _, scan := range []kv.Scan{{Table: p.tables.Meta, Family: schema.FamilyMeta}, {Table: p.tables.Data, Family: schema.FamilyData}} {
		scan.KeysOnly, scan.Limit = true, 1
		for _, err := range p.db.Scan(ctx, scan) {
			if err != nil {
				return false, fmt.Errorf("look for a first row of %s: %w", scan.Table, err)
			}
			return false, nil
		}
	}
	return true, nil
}

// note notes the days in the row of a series.
func (p *Days) note(id index.ID, cells []kv.StoredCell) { p.keep(id, p.ofRow(cells)) }

// keep notes the days that the table has of a series.
func (p *Days) keep(id index.ID, d days) {
	if d != noDays {
		p.of(id).read(d)
	}
}

// ofRow returns the days in the row of a series. A row without them has none, if the store is
// whole; otherwise they are unknown: any day.
func (p *Days) ofRow(cells []kv.StoredCell) days {
	for _, c := range cells {
		if c.Coded != nil {
			continue // a document
		}
		if first, last, ok := own.ParseSpan(c.Qualifier, c.Value); ok {
			return daysOf(first, last)
		}
		if string(c.Qualifier) == string(own.SpanQualifier()) {
			return everyDay // of a later version: it tells nothing
		}
	}
	if p.whole {
		return noDays
	}
	return everyDay
}

// Widen notes that a row of a series is about to be put, and appends the series to those whose days
// the table lacks then, unless it is the last of them.
func (p *Days) Widen(wider []index.ID, id index.ID, base uint32) []index.ID {
	d := p.of(id)
	widen(&d.now, dayOfRow(base))
	if d.now.Load() != d.kept.Load() && (len(wider) == 0 || wider[len(wider)-1] != id) {
		wider = append(wider, id)
	}
	return wider
}

// Put writes the days of series, which no other call may write at the same time, to tsdb-meta.
// Where the engine can be told without waiting for the disk it is not waited for: the rows come
// later in the one sequence of changes, and a crash leaves none of them without this.
func (p *Days) Put(ctx context.Context, ids []index.ID) error {
	if !p.registry.Loaded() { // what the table has is wider, perhaps
		if err := p.read(ctx, ids); err != nil {
			return err
		}
	}
	put := make([]days, len(ids))
	for i, id := range ids {
		put[i] = p.all(id)
	}
	if err := p.write(ctx, ids, put); err != nil {
		return err
	}
	for i, id := range ids {
		widen(&p.of(id).kept, put[i])
	}
	return nil
}

// read notes the days of some series before all are loaded.
func (p *Days) read(ctx context.Context, ids []index.ID) error {
	if err := p.Begin(ctx); err != nil {
		return err
	}
	rows, err := p.db.Get(ctx, p.tables.Meta, schema.FamilyMeta, p.index.TSUIDBytes(nil, ids))
	if err != nil {
		return err
	}
	var cells []kv.StoredCell
	for i, row := range rows {
		cells = kv.AppendStored(cells[:0], row.Cells)
		p.note(ids[i], cells)
	}
	return nil
}

// Narrow takes days from series whose points from start to end (milliseconds, inclusive) were
// deleted from the table, durably. hours calls see for the hours that are in memory. While Narrow
// runs, no row of the series may begin, in memory or in the table.
func (p *Days) Narrow(ctx context.Context, ids []index.ID, start, end int64, hours func(id index.ID, see func(base uint32))) error {
	var narrower []index.ID
	var put []days
	for _, id := range ids {
		d := p.of(id)
		left := days(d.kept.Load()).without(start, end)
		if left == noDays && !p.whole {
			continue // without days in the table it would have all
		}
		now := left
		hours(id, func(base uint32) { now = now.union(dayOfRow(base)) })
		d.now.Store(uint32(now))
		if left != days(d.kept.Swap(uint32(left))) {
			narrower, put = append(narrower, id), append(put, left)
		}
	}
	if len(narrower) == 0 {
		return nil
	}
	return p.write(ctx, narrower, put)
}

// write writes the days of series to their rows of tsdb-meta: put[i] is that of ids[i].
func (p *Days) write(ctx context.Context, ids []index.ID, put []days) error {
	mutations := make([]kv.Mutation, len(ids))
	for i, key := range p.index.TSUIDBytes(nil, ids) {
		m := &mutations[i]
		if m.Key = key; put[i] == noDays {
			m.Deletes = []kv.Delete{{Qualifier: own.SpanQualifier()}}
		} else {
			m.Puts = []kv.Put{{Qualifier: own.SpanQualifier(), Value: own.EncodeSpan(put[i].first(), put[i].last())}}
		}
	}
	slices.SortFunc(mutations, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	return p.db.Put(ctx, p.tables.Meta, schema.FamilyMeta, mutations)
}
