package storage

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
)

// verifyDelay is how long after a point was put through without reading its row the row is looked at: others may have put the same instant.
const verifyDelay = 5 * time.Minute

// verifier remembers the rows of shared tables that were written without being read. The common point is put so, since a read for each would double its
// cost. Two processes that put the same instant in this way may leave two values in the row; each row is looked at once some minutes later, and the
// value that was written later stays.
type verifier struct {
	mu  sync.Mutex   // guards due
	due []unverified // in the order of at
}

type unverified struct {
	id   index.ID
	base uint32
	at   time.Time
}

// note remembers the rows of a writer, which holds their states.
func (v *verifier) note(w *writer) {
	at := w.store.o.Now().Add(verifyDelay)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range w.rows {
		if r := &w.rows[i]; r.state.unverified != r.base+1 {
			r.state.unverified = r.base + 1
			v.due = append(v.due, unverified{r.ref.id(), r.base, at})
		}
	}
}

// take returns at most n rows that are due at a time.
func (v *verifier) take(now time.Time, n int) []unverified {
	v.mu.Lock()
	defer v.mu.Unlock()
	end := 0
	for end < len(v.due) && end < n && !v.due[end].at.After(now) {
		end++
	}
	some := append([]unverified(nil), v.due[:end]...)
	v.due = v.due[:copy(v.due, v.due[end:])]
	return some
}

// verifyEvery looks at rows that are due until ctx ends.
func (s *Store) verifyEvery(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.verifyRows(ctx, s.o.Now()); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("looking for instants with two values; tried again later", "table", s.o.Tables.Data, "err", err)
		}
	}
}

// verifyRows settles the rows that were put without being read and are due at a time.
func (s *Store) verifyRows(ctx context.Context, now time.Time) error {
	for {
		some := s.verifier.take(now, rowsPerRead)
		if len(some) == 0 {
			return nil
		}
		if err := s.verifySome(ctx, some); err != nil {
			s.verifier.mu.Lock()
			for i := range some {
				some[i].at = now.Add(verifyDelay)
			}
			s.verifier.due = append(s.verifier.due, some...)
			s.verifier.mu.Unlock()
			return err
		}
	}
}

// lastVerify bounds how long the end of a process looks at rows that others may have written to.
const lastVerify = 10 * time.Second

// verifyLast looks at all rows that were noted, which nobody will do after the end of the process.
func (s *Store) verifyLast(ctx context.Context) {
	if s.versioned == nil || s.unfit.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastVerify)
	defer cancel()
	if err := s.verifyRows(ctx, s.o.Now().Add(2*verifyDelay)); err != nil {
		s.o.Logger.Warn("looking for instants with two values at the end; rows that others wrote to at the same time may have some", "table", s.o.Tables.Data, "err", err)
	}
}

func (s *Store) verifySome(ctx context.Context, some []unverified) error {
	w := s.writers.Get().(*writer)
	defer s.writers.Put(w)
	w.reset(s)
	w.lockRows(some)
	defer w.unlock()
	w.makeKeys()
	return w.verify(ctx, s.db.Apply)
}

// lockRows makes rows of those that were noted, and locks the states of their series.
func (w *writer) lockRows(some []unverified) {
	slices.SortFunc(some, func(a, b unverified) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.base, b.base)) })
	some = slices.CompactFunc(some, func(a, b unverified) bool { return a.id == b.id && a.base == b.base })
	for i, u := range some {
		st := w.store.states.get(u.id)
		if i == 0 || some[i-1].id != u.id {
			st.mu.Lock()
			w.locked = append(w.locked, st)
		}
		if st.unverified == u.base+1 {
			st.unverified = 0
		}
		w.rows = append(w.rows, rowWrite{ref: refOf(u.id), state: st, base: u.base})
	}
}
