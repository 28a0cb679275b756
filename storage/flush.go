package storage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// flushEvery puts the rows of the head that are due into the table until ctx ends.
func (s *Store) flushEvery(ctx context.Context) error {
	if err := s.buffer.recover(ctx, s.checkNumbers); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ticker := time.NewTicker(s.o.Buffer.CheckInterval)
	defer ticker.Stop()
	var flushed retry.Outcome
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		s.buffer.measure()
		s.buffer.goOn(ctx)
		_ = s.buffer.known.note(false) // an append says what is wrong
		if err := s.flushRows(ctx, s.due()); flushed.Note(ctx, err) {
			s.o.Logger.Error("flushing rows; they stay in the log and are tried again", "table", s.o.Tables.Data, "err", err)
		}
	}
}

// settleTime is how long a row of an hour long past waits for the rest of its points: who fills in old data sends hour after hour, and each early put
// is a cell more.
const settleTime = 30 * time.Second

// due is the policy of the moment.
func (s *Store) due() head.Policy {
	o, now := s.o.Buffer, s.o.Now()
	p := head.Policy{
		EndedBefore: now.Add(-o.FlushDelay).UnixMilli(), OpenedBefore: now.Add(-o.FlushInterval), MaxBytes: max(o.MaxHeadBytes-s.buffer.agesBytes(), 1),
	}
	if settle := min(o.FlushDelay, settleTime); settle > 0 {
		p.SettledBefore = now.Add(-settle)
	}
	if s.buffer.log.Size() > o.MaxLogBytes/2 {
		p.MarkedBefore = s.buffer.log.End().Segment
	}
	return p
}

// flushRows puts the rows that are due, and cuts the log. One call at a time: when it returns, rows that were due before it began are in the table,
// which they would not be if another call still had them in hand.
func (s *Store) flushRows(ctx context.Context, p head.Policy) (err error) {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	put, begin := 0, time.Now()
	defer func() { s.buffer.metrics.flushed(begin, put, err) }()
	for sealed := range s.buffer.head.Seal(p) {
		if err := s.putRows(ctx, sealed.Rows, s.db.Put); err != nil {
			sealed.Keep()
			return err
		}
		put += len(sealed.Rows)
		s.buffer.drop(sealed)
	}
	if put == 0 {
		return s.buffer.roll()
	}
	s.metrics.rowsFlushed.Add(float64(put))
	if err := s.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync what was put: %w", err)
	}
	if err := s.buffer.truncate(); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return s.buffer.roll()
}

// putRows puts whole rows as Append puts points: plainly where this process knows what the row holds, else read and merged.
func (s *Store) putRows(ctx context.Context, rows []head.Row, apply func(ctx context.Context, table, family string, rows []kv.Mutation) error) error {
	w := s.writers.Get().(*writer)
	defer s.writers.Put(w)
	w.reset(s)
	w.flush = true
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b head.Row) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Base, b.Base)) })
	for i, r := range rows {
		ref := series.Ref(r.ID) + 1
		st := s.states.Of(ref.ID())
		if i == 0 || rows[i-1].ID != r.ID {
			st.mu.Lock()
			w.locked = append(w.locked, st)
		}
		w.rows = append(w.rows, rowWrite{ref: ref, state: st, base: r.Base, points: r.Points, objects: r.Objects, ages: s.buffer.agesOf(r)})
	}
	defer w.unlock()
	if err := w.build(ctx); err != nil {
		return err
	}
	w.sortPuts()
	if err := w.put(ctx, apply); err != nil || s.db.Versioned == nil {
		return err
	}
	return w.verify(ctx, apply)
}
