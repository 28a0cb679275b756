package write

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// reconcileRows reads rows of a shared table with their past and makes their mutations.
func (w *tableAppend) reconcileRows(ctx context.Context, rows []*rowWrite) error {
	p := row.Pending{Now: !w.flush, Clock: w.table.stamps.now()}
	return w.eachPast(ctx, rows, func(row *rowWrite, past *kv.History) {
		p.Points, p.Objects, p.Ages = row.points, row.objects, row.ages
		w.reconcileRow(row, past, &p)
	})
}

// Rows are read with their past some at a time: as many as hold this many cells and deletions by
// the look of those before, about 100 bytes each in memory.
const (
	pastRows  = 64 // the first time
	pastCells = 1 << 17
)

// eachPast reads rows with their past and shows them one by one.
func (w *tableAppend) eachPast(ctx context.Context, rows []*rowWrite, see func(row *rowWrite, past *kv.History)) error {
	for n := pastRows; len(rows) > 0; {
		some := rows[:min(n, len(rows))]
		rows = rows[len(some):]
		past, err := readRows(ctx, w.table, some, w.table.db.Versioned.History)
		if err != nil {
			return err
		}
		size := 0
		for i := range past {
			size += len(past[i].Cells) + len(past[i].Hidden) + len(past[i].Deletes)
			see(some[i], &past[i])
		}
		n = min(max(pastCells*len(some)/max(size, 1), 1), 2*n, rowsPerRead)
	}
	return nil
}

// reconcileRow makes the mutation of a row.
func (w *tableAppend) reconcileRow(row *rowWrite, past *kv.History, p *row.Pending) {
	s := w.table
	r := w.reconciler.Reconcile(row.key, past, p)
	for _, b := range w.reconciler.Broken {
		// The row fails its queries until it is repaired; refusing new points would lose them
		// as well.
		s.logger.Error("row holds a cell that cannot be read; new points are put next to it: repair it with tsdbridge fsck",
			"table", s.name, "row", hex.EncodeToString(row.key), "cell", hex.EncodeToString(b.Qualifier), "err", b.Err)
	}
	if len(past.Cells) == 0 {
		s.metrics.rowsNew.Inc()
	}
	s.metrics.pointsKnown.Add(float64(r.Known))
	if r.Replaced {
		s.metrics.rowsReplaced.Inc()
	}
	for _, put := range r.Puts {
		s.stamps.see(put.Time)
	}
	sample, object := w.reconciler.Last()
	row.lastSample, row.lastObject = max(row.lastSample, sample), max(row.lastObject, object)
	if len(r.Puts) > 0 || len(r.Deletes) > 0 {
		// The reconciler keeps its memory for the next row.
		r.Puts, r.Deletes = slices.Clone(r.Puts), slices.Clone(r.Deletes)
		w.change(row, past, r.Mutation)
		row.put = r.Puts
	}
}

// verifyRounds is how often a row is settled again while others write into it.
const verifyRounds = 8

// verify reads the rows that were put once more: a process that put into one of them at the same
// time did not see our cells, nor we its, and a cell of its may have taken the place of ours.
// The process that reads last sees both, and settles the instants that have two values.
func (w *tableAppend) verify(ctx context.Context, apply applyFunc) error {
	rows := make([]*rowWrite, 0, len(w.rows))
	for i := range w.rows {
		rows = append(rows, &w.rows[i])
	}
	for round := 0; len(rows) > 0; round++ {
		if round == verifyRounds {
			return fmt.Errorf("%d rows change faster than they can be settled", len(rows))
		}
		var unsettled []*rowWrite
		for some := range slices.Chunk(rows, rowsPerRead) {
			changed, err := w.settleRows(ctx, some, apply)
			if err != nil {
				return err
			}
			unsettled = append(unsettled, changed...)
		}
		rows = unsettled
	}
	return nil
}

// settleRows settles rows that are not as they were put, and returns those that had to be changed.
func (w *tableAppend) settleRows(ctx context.Context, rows []*rowWrite, apply applyFunc) ([]*rowWrite, error) {
	w.puts, w.changes = w.puts[:0], w.changes[:0]
	var changed []*rowWrite
	p := row.Pending{Clock: w.table.stamps.now()}
	err := w.eachPast(ctx, rows, func(row *rowWrite, past *kv.History) {
		if row.stands(past.Cells) {
			return
		}
		n := len(w.puts) + len(w.changes)
		p.Points, p.Objects, p.Ages = row.points, row.objects, row.ages
		if w.reconcileRow(row, past, &p); len(w.puts)+len(w.changes) > n {
			changed = append(changed, row)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return nil, nil
	}
	w.table.metrics.rowsSettled.Add(float64(len(changed)))
	if err = w.applyPuts(ctx, apply); err == nil {
		_, err = w.tryChanges(ctx) // all changed rows are looked at again
	}
	if err != nil {
		return nil, fmt.Errorf("settle %d rows: %w", len(changed), err)
	}
	return changed, nil
}

// stands reports whether a row holds what was put into it and nothing else.
func (r *rowWrite) stands(cells []kv.Cell) bool {
	return len(cells) == len(r.put) && !slices.ContainsFunc(r.put, func(p kv.Put) bool {
		at, ok := slices.BinarySearchFunc(cells, p.Qualifier, func(c kv.Cell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
		return !ok || cells[at].Time != p.Time || !bytes.Equal(cells[at].Value, p.Value)
	})
}
