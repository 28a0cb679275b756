package write

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// verifyDelay is how long after a point was put through without reading its row the row is looked
// at: others may have put the same instant.
const verifyDelay = 5 * time.Minute

// verifier remembers the rows of shared tables that were written without being read. The common
// point is put so, since a read for each would double its cost. Two processes that put the same
// instant in this way may leave two values in the row; it is looked at some minutes later, and the
// value that was written later stays. A series for which that was found once to be in order is then
// looked at when the hour of its row is over, not every few minutes.
type verifier struct {
	mu  sync.Mutex // guards due
	due map[int64]map[unverified]struct{}
}

type unverified struct {
	id   index.ID
	base uint32
}

// lookAt is the minute in which a row is due to be looked at.
func lookAt(now time.Time, st *state, base uint32) int64 {
	at := now.Unix()
	if st.alone {
		// a row of the future is not waited for
		at = min(max(at, int64(base)+schema.RowSeconds), at+schema.RowSeconds)
	}
	return (at + int64(verifyDelay/time.Second)) / 60
}

// note remembers the rows of a writer, which holds their states.
func (v *verifier) note(w *tableAppend) {
	now := w.table.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range w.rows {
		if r := &w.rows[i]; r.state.unverified != r.base+1 {
			r.state.unverified = r.base + 1
			v.add(lookAt(now, r.state, r.base), unverified{index.IDOf(r.ref), r.base})
		}
	}
}

func (v *verifier) add(minute int64, u unverified) {
	if v.due == nil {
		v.due = map[int64]map[unverified]struct{}{}
	}
	if v.due[minute] == nil {
		v.due[minute] = map[unverified]struct{}{}
	}
	v.due[minute][u] = struct{}{}
}

// take returns at most n rows that are due at a time.
func (v *verifier) take(now time.Time, n int) []unverified {
	v.mu.Lock()
	defer v.mu.Unlock()
	var some []unverified
	for minute, rows := range v.due {
		if minute > now.Unix()/60 {
			continue
		}
		for u := range rows {
			if len(some) == n {
				return some
			}
			some = append(some, u)
			delete(rows, u)
		}
		delete(v.due, minute)
	}
	return some
}

// giveBack has rows looked at later that could not be looked at.
func (v *verifier) giveBack(now time.Time, some []unverified) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, u := range some {
		v.add(now.Add(verifyDelay).Unix()/60, u)
	}
}

// verifyEvery looks at rows that are due until ctx ends.
func (t *Table) verifyEvery(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var verified retry.Outcome
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := t.verifyRows(ctx, t.now()); verified.Note(ctx, err) {
			t.logger.Warn("instants with two values cannot be looked for, which is tried again; see /-/ready", "table", t.name, "err", err)
		}
	}
}

// verifyRows settles the rows that were put without being read and are due at a time.
func (t *Table) verifyRows(ctx context.Context, now time.Time) error {
	for {
		some := t.verifier.take(now, rowsPerRead)
		if len(some) == 0 {
			return nil
		}
		if err := t.verifySome(ctx, some); err != nil {
			t.verifier.giveBack(now, some)
			return err
		}
	}
}

// lastVerify bounds how long the end of a process looks at rows that others may have written to.
const lastVerify = 10 * time.Second

// everything is later than all rows are due.
const everything = 400 * 24 * time.Hour

// verifyLast looks at all rows that were noted, since no process will do so after the end of this
// one.
func (t *Table) verifyLast(ctx context.Context) {
	if t.db.Versioned == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastVerify)
	defer cancel()
	if err := t.verifyRows(ctx, t.now().Add(everything)); err != nil {
		t.logger.Warn("instants with two values were not looked for at the end; rows that others wrote to at the same time may have some, tsdbridge fsck finds them", "table", t.name, "err", err)
	}
}

func (t *Table) verifySome(ctx context.Context, some []unverified) error {
	w := t.appends.Get().(*tableAppend)
	defer t.appends.Put(w)
	w.reset(t)
	w.lockRows(some)
	defer w.held.unlock()
	w.makeKeys()
	if err := w.keepContested(ctx); err != nil {
		return err
	}
	return w.verify(ctx, t.db.Apply)
}

// lockRows makes rows of those that were noted, and locks the states of their series.
func (w *tableAppend) lockRows(some []unverified) {
	slices.SortFunc(some, func(a, b unverified) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.base, b.base)) })
	some = slices.Compact(some) // a row may be due in two minutes
	for i, u := range some {
		st := w.table.states.Of(u.id)
		if i == 0 || some[i-1].id != u.id {
			w.held.lock(st)
		}
		if st.unverified == u.base+1 {
			st.unverified = 0
		}
		w.rows = append(w.rows, rowWrite{ref: index.RefOf(u.id), state: st, base: u.base})
	}
}

// keepContested reads the rows as they are now and leaves those that have something to settle,
// which takes their past as well.
func (w *tableAppend) keepContested(ctx context.Context) error {
	rows := make([]*rowWrite, len(w.rows))
	for i := range w.rows {
		rows[i] = &w.rows[i]
	}
	held, err := readRows(ctx, w.table, rows, w.table.db.Get)
	if err != nil {
		return err
	}
	n := 0
	for i, row := range w.rows {
		row.state.alone = !w.reconciler.Contested(held[i].Cells)
		if !row.state.alone {
			// a later row waits for the end of its hour: it is noted again, for soon
			row.state.unverified = 0
			w.rows[n] = row
			n++
		}
	}
	w.rows = w.rows[:n]
	return nil
}
