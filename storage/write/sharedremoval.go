package write

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// erasure deletes from rows of a shared table what was acknowledged until a time. It may be
// repeated: what came later stays.
type erasure struct {
	until int64
	// seen means that what stands in a row when it is read counts as acknowledged before, if its
	// stamp is not far ahead: until becomes that of the latest such stamp.
	seen  bool
	renew func(ctx context.Context) error // called now and then
	// left are the TSUIDs of the series that have points which came later.
	left map[string]bool
	// passed counts the rows that a scan passed over.
	passed int

	changes []kv.Conditional
	rows    []kv.Mutation // deleted as a whole
}

// tombstonesPerSecond bounds the deletions that a process sends: each costs HBase as much as a put
// until a major compaction drops it.
const tombstonesPerSecond = 100_000

// sharedGroup deletes from the rows of a group. Which hours a series has is not known: those before
// the first row of its metric are left out, and later ones than tomorrow's, which hardly any series
// has, are scanned.
func (r *removal) sharedGroup(ctx context.Context, g metricGroup) error {
	lo, hi := r.lo, r.hi
	defer func() { r.lo, r.hi = lo, hi }()
	first, ok, err := r.firstRow(ctx, g)
	if err != nil || !ok {
		return err
	}
	r.lo = first
	if tomorrow := schema.Base(r.table.now().Add(24 * time.Hour).UnixMilli()); tomorrow < hi {
		if err := r.byScan(ctx, g, max(r.lo, tomorrow+schema.RowSeconds), hi); err != nil {
			return err
		}
		r.hi = tomorrow
	}
	if r.lo > r.hi {
		return nil
	}
	return r.group(ctx, g)
}

// keepLease renews the lease of a deletion from shared tables now and then.
func (r *removal) keepLease(ctx context.Context) error {
	if r.shared == nil {
		return nil
	}
	if r.shared.passed++; r.shared.passed%rowsPerRead != 0 {
		return nil
	}
	return r.shared.renew(ctx)
}

// firstRow returns the base time of the first row of the metric of a group; false: there is none.
func (r *removal) firstRow(ctx context.Context, g metricGroup) (base uint32, ok bool, err error) {
	scan := row.ScanMetric(r.table.layout, r.table.name, g.bucket, g.metric, r.lo, r.hi)
	scan.KeysOnly, scan.Limit = true, 1
	for found, err := range r.table.db.Scan(ctx, scan) {
		if err != nil {
			return 0, false, err
		}
		if key, err := r.table.layout.ParseRowKey(found.Key); err == nil {
			return key.Base, true, nil
		}
		return r.lo, true, nil // of another layout
	}
	return 0, false, nil
}

// erase deletes from the rows with the keys of a removal.
func (r *removal) erase(ctx context.Context) error {
	begin := time.Now()
	e, t := r.shared, r.table
	w := t.appends.Get().(*tableAppend)
	defer t.appends.Put(w)
	w.reset(t)
	keys := slices.Clone(r.keys)
	changed := 0
	for round := 0; len(keys) > 0; round++ {
		if round == verifyRounds {
			return fmt.Errorf("%d rows change faster than points can be deleted from them", len(keys))
		}
		again, err := r.eraseOnce(ctx, w, keys)
		if err != nil {
			return err
		}
		changed += len(e.rows) + len(e.changes) - len(again)
		keys = again
	}
	r.rows += changed
	if err := e.renew(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	// A cluster that is slow gets as long a pause as its answer took.
	if pause := max(time.Duration(changed)*time.Second/tombstonesPerSecond-took, took); changed > 0 && !retry.Sleep(ctx, pause) {
		return ctx.Err()
	}
	return nil
}

// eraseOnce deletes from rows, and returns the keys of those that another process has changed meanwhile.
// This process puts nothing into them at the same time: a put that has read a row before points are deleted
// from it may put them anew.
func (r *removal) eraseOnce(ctx context.Context, w *tableAppend, keys [][]byte) (again [][]byte, err error) {
	e, t := r.shared, r.table
	w.lockKeys(keys)
	defer w.held.unlock()
	if err := r.findErased(ctx, w, keys); err != nil {
		return nil, err
	}
	for i := range e.rows {
		e.rows[i].RowTime = max(e.rows[i].RowTime, e.until)
	}
	if len(e.rows) > 0 {
		if err := t.db.Apply(ctx, t.name, schema.FamilyData, e.rows); err != nil {
			return nil, err
		}
	}
	return e.applyUnchanged(ctx, t)
}

// lockKeys locks the states of the series of rows.
func (w *tableAppend) lockKeys(keys [][]byte) {
	var ids []index.ID
	for _, rowKey := range keys {
		if key, err := w.table.layout.ParseRowKey(rowKey); err == nil {
			if id, ok := w.table.index.Lookup(key.AppendTSUID(nil)); ok {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		st := w.table.states.Of(id)
		w.held.lock(st)
	}
}

// findErased reads rows with their past and collects their changes.
func (r *removal) findErased(ctx context.Context, w *tableAppend, keys [][]byte) error {
	e := r.shared
	e.rows, e.changes = e.rows[:0], e.changes[:0]
	rows := make([]*rowWrite, len(keys))
	for i, key := range keys {
		rows[i] = &rowWrite{key: key}
	}
	return w.eachPast(ctx, rows, func(row *rowWrite, past *kv.History) { r.eraseRow(w, row.key, past) })
}

func (r *removal) eraseRow(w *tableAppend, rowKey []byte, past *kv.History) {
	e := r.shared
	key, err := r.table.layout.ParseRowKey(rowKey)
	if err != nil || len(past.Cells) == 0 {
		return
	}
	newest := int64(0)
	for i := range past.Cells {
		newest = max(newest, past.Cells[i].Time)
	}
	if e.seen && newest <= e.until+row.RecentSpan {
		e.until = max(e.until, newest)
	}
	if r.covers(key.Base) && newest <= e.until {
		e.rows = append(e.rows, kv.Mutation{Key: rowKey, DeleteRow: true})
		return
	}
	from, to := r.offsets(key.Base)
	change := w.reconciler.Erase(rowKey, past, row.Erasure{From: from, To: to, Until: e.until}, w.table.stamps.now())
	if len(w.reconciler.Broken) > 0 {
		r.broken = append(r.broken, rowKey)
	}
	if r.covers(key.Base) {
		e.left[string(key.AppendTSUID(nil))] = true
	}
	if len(change.Puts) > 0 || len(change.Deletes) > 0 {
		for _, put := range change.Puts {
			w.table.stamps.see(put.Time)
		}
		e.changes = append(e.changes, change)
	}
}

// applyUnchanged makes the changes of rows that are as they were read, and returns the keys of the
// others.
func (e *erasure) applyUnchanged(ctx context.Context, t *Table) (again [][]byte, err error) {
	if len(e.changes) == 0 {
		return nil, nil
	}
	slices.SortFunc(e.changes, func(a, b kv.Conditional) int { return bytes.Compare(a.Key, b.Key) })
	made, err := t.db.Versioned.ApplyUnchanged(ctx, t.name, schema.FamilyData, e.changes)
	if err != nil {
		return nil, err
	}
	for i := range made {
		if !made[i] {
			again = append(again, e.changes[i].Key)
		}
	}
	return again, nil
}
