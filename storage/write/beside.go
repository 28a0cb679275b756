package write

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// A SeriesRow is the row of a series in the hour that begins at Base (seconds).
type SeriesRow struct {
	ID   index.ID
	Base uint32
}

// Beside calls put, which puts cells that are not points into rows of series. The days of the
// series have the rows before put is called, and series that were deleted are registered again, so
// that a deletion finds them; no deletion begins until it has returned. While a deletion of one of
// the rows is unfinished it is an ErrNotReady, because what put puts would be deleted too. On shared
// tables the times of the cells decide that.
func (w *Writer) Beside(ctx context.Context, rows []SeriesRow, put func() error) error {
	if err := w.Replayed(); err != nil {
		return err // the log may have deletions
	}
	if err := w.deleter.enterBeside(ctx, rows); err != nil {
		return err
	}
	defer w.deleter.leave()
	if err := w.table.widen(ctx, rows); err != nil {
		return err
	}
	if w.shared != nil {
		w.table.noteBeside(rows)
	}
	return put()
}

// noteBeside remembers that this process puts cells that are not points into rows of series, which
// deletions of the series by other processes may not have seen.
func (t *Table) noteBeside(rows []SeriesRow) {
	for _, r := range rows {
		st := t.states.Of(r.ID)
		st.mu.Lock()
		st.beside = true
		st.mu.Unlock()
	}
}

// besideOf returns those of some series that noteBeside has noted.
func (t *Table) besideOf(ids []index.ID) (noted []index.ID) {
	for _, id := range ids {
		st := t.states.Of(id)
		st.mu.Lock()
		if st.beside {
			noted = append(noted, id)
		}
		st.mu.Unlock()
	}
	return noted
}

// forgetBeside forgets what noteBeside has noted of series, which a deletion deletes.
func (t *Table) forgetBeside(ids []index.ID) {
	for _, id := range ids {
		st := t.states.Of(id)
		st.mu.Lock()
		st.beside = false
		st.mu.Unlock()
	}
}

// Alone makes a change of the table's rows while no points are appended and nothing is put into the
// table. It is for tables that no other process writes to, and for changes that leave the points as
// they are read: what is known of the rows stays so.
func (w *Writer) Alone(change func() error) error {
	if w.buffer != nil {
		return w.deleter.alone(change)
	}
	w.deleter.order.Lock()
	defer w.deleter.order.Unlock()
	return change()
}

// enterBeside begins a call of Beside. Series that were deleted are registered again. Without an error the caller
// must leave.
func (d *deleter) enterBeside(ctx context.Context, rows []SeriesRow) error {
	for {
		if err := d.enterRows(ctx, rows); err != nil || d.registry.Forgotten() == 0 {
			return err
		}
		gone := d.goneOf(rows)
		if len(gone) == 0 {
			return nil
		}
		d.leave()
		if err := d.prepare(ctx, nil, gone); err != nil {
			return err
		}
	}
}

// goneOf returns the series of rows that were deleted, each once.
func (d *deleter) goneOf(rows []SeriesRow) (gone []index.ID) {
	for _, r := range rows {
		if !d.registry.Of(r.ID).Exists() {
			gone = append(gone, r.ID)
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// enterRows is enterBeside, but for series that were deleted.
func (d *deleter) enterRows(ctx context.Context, rows []SeriesRow) error {
	for {
		d.order.RLock()
		held := d.held.ofRows(rows)
		if held == nil && d.count.Load() == 0 {
			return nil
		}
		d.order.RUnlock()
		if held != nil {
			if err := held.wait(ctx); err != nil {
				return err
			}
			continue
		}
		if entered, err := d.enterUntouched(rows); entered || err != nil {
			return err
		}
	}
}

// enterUntouched is enterBeside while there are unfinished deletions; false: a hold has begun.
func (d *deleter) enterUntouched(rows []SeriesRow) (entered bool, err error) {
	d.flush.Lock() // before order
	defer d.flush.Unlock()
	if touches := d.touches(); touches != nil {
		for _, r := range rows {
			if touches(uint32(r.ID), r.Base) {
				return false, fmt.Errorf("%w: a deletion of the series is not finished", storage.ErrNotReady)
			}
		}
	}
	d.order.RLock()
	if d.held.ofRows(rows) != nil {
		d.order.RUnlock()
		return false, nil
	}
	return true, nil
}

// widen has the days of series, if these are registered, cover rows that are about to be put.
func (t *Table) widen(ctx context.Context, rows []SeriesRow) error {
	if t.days == nil {
		return nil
	}
	for _, r := range rows {
		if !t.registry.Of(r.ID).Exists() {
			continue
		}
		if err := t.widenOne(ctx, r); err != nil {
			return fmt.Errorf("write the days of a series: %w", err)
		}
	}
	return nil
}

func (t *Table) widenOne(ctx context.Context, r SeriesRow) error {
	st := t.states.Of(r.ID)
	st.mu.Lock() // appends write the days too
	defer st.mu.Unlock()
	wider := t.days.Widen(nil, r.ID, r.Base)
	if len(wider) == 0 {
		return nil
	}
	return t.days.Put(ctx, wider)
}
