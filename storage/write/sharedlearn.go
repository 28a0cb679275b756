package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// run reads the journal from time to time, follows it, and carries out what other processes left
// unfinished, until ctx ends.
func (s *sharedDeleter) run(ctx context.Context) error {
	var followed retry.Outcome
	for {
		if err := s.step(ctx); followed.Note(ctx, err) {
			s.reports.logger.Error("the deletions of other processes cannot be read, which is tried again; see /-/ready", "err", err)
		}
		if !retry.Sleep(ctx, journalEvery) {
			return nil
		}
	}
}

// step is one round of run.
func (s *sharedDeleter) step(ctx context.Context) error {
	if s.usage.buffer != nil && s.usage.buffer.await(ctx) != nil {
		return nil
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	if !s.registry.Loaded() {
		return nil // which series exist is not known yet
	}
	return errors.Join(s.followAll(ctx), s.resume(ctx, s.now().Add(-verifyDelay)))
}

// learn reads what is new in the journal, and lets the head follow.
func (s *sharedDeleter) learn(ctx context.Context) error {
	if s.flushing != nil {
		s.flushing.Lock()
		defer s.flushing.Unlock()
	}
	return s.learnLocked(ctx)
}

// learnLocked is learn for a caller that holds Flusher.mu, if there is one.
func (s *sharedDeleter) learnLocked(ctx context.Context) error {
	s.lessons.learning.Lock()
	defer s.lessons.learning.Unlock()
	begin := s.now()
	late := !s.lessons.readAt.IsZero() && begin.Sub(s.lessons.readAt) > lateAfter
	entries, bad, err := s.journal.Entries(ctx, s.lessons.since)
	if err != nil {
		return err
	}
	s.reports.warn(bad)
	newest := s.lessons.since + journalMargin.Milliseconds()
	for _, e := range entries {
		l := s.lessons.learned[string(e.Key)]
		if l == nil {
			l = &lesson{cut: math.MinInt64}
			s.lessons.learned[string(e.Key)] = l
		}
		l.Entry = e
		newest = max(newest, e.Time)
		if e.Until <= l.cut {
			continue
		}
		if err := s.reports.passLost(s.cut(ctx, e, late)); err != nil {
			return err
		}
		l.cut = e.Until
	}
	s.lessons.since, s.lessons.readAt = newest-journalMargin.Milliseconds(), begin
	s.lessons.countBegun()
	return nil
}

// countBegun counts the deletions that are not carried out. The caller holds learning.
func (k *lessons) countBegun() {
	n := int64(0)
	for _, l := range k.learned {
		if l.State == own.DeletionBegun {
			n++
		}
	}
	k.begun.Store(n)
}

func (r *reports) warn(bad []error) {
	for _, err := range bad {
		r.logger.Error("a record of the journal of deletions cannot be read; run the same version of all adapters, a later one may have written it", "err", err)
	}
}

// passLost tells of series of a deletion that the journal has lost, and goes on without them: points
// wait for it to be read.
func (r *reports) passLost(err error) error {
	if !errors.Is(err, journal.ErrLost) {
		return err
	}
	r.logger.Error("a deletion is followed in part, and what it deletes of other series may come back; delete the same again", "err", err)
	return nil
}

// cut lets the head follow a deletion. Of an instant that something newer was written to meanwhile
// all stays, exemplars too: the head has one age for it. If the journal is read late, this process
// may have put rows after the process that deletes looked at them for the last time: it looks at
// them itself. The caller holds learning.
func (s *sharedDeleter) cut(ctx context.Context, e *journal.Entry, late bool) error {
	s.table.stamps.see(e.Until + 1)
	if s.usage.buffer == nil {
		return nil
	}
	return s.journal.Series(ctx, e, func(tsuids [][]byte) error {
		ids := s.table.known(tsuids)
		s.order.Lock() // what was acknowledged is in the head
		defer s.order.Unlock()
		s.usage.buffer.cut(ids, e.Start, e.End, e.Until)
		if late && len(ids) > 0 {
			s.lessons.again = append(s.lessons.again, Deletion{IDs: ids, Start: e.Start, End: e.End, until: e.Until})
		}
		return nil
	})
}

// known returns those of some series that this process knows.
func (t *Table) known(tsuids [][]byte) []index.ID {
	ids := make([]index.ID, 0, len(tsuids))
	for _, tsuid := range tsuids {
		if id, ok := t.index.Lookup(tsuid); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// deletion returns a lesson as a deletion without series.
func (l *lesson) deletion() Deletion {
	return Deletion{Start: l.Start, End: l.End, Whole: l.Whole, until: l.Until}
}

// within returns the part of a deletion that lies in hours of series.
func (d Deletion) within(hours []openHour) Deletion {
	lo, hi := hours[0].base, hours[0].base
	d.IDs, d.Whole = nil, false
	for _, h := range hours {
		lo, hi = min(lo, h.base), max(hi, h.base)
		d.IDs = append(d.IDs, h.id)
	}
	slices.Sort(d.IDs)
	d.IDs = slices.Compact(d.IDs)
	d.Start, d.End = max(d.Start, int64(lo)*1000), min(d.End, (int64(hi)+schema.RowSeconds)*1000-1)
	return d
}

// followAll forgets series that other processes have deleted.
func (s *sharedDeleter) followAll(ctx context.Context) error {
	for _, e := range s.lessons.unfollowed() {
		err := s.journal.Series(ctx, e, func(tsuids [][]byte) error {
			for some := range slices.Chunk(s.table.known(tsuids), rowsPerRead) {
				if err := s.followSome(ctx, some); err != nil {
					return err
				}
			}
			return nil
		})
		if err := s.reports.passLost(err); err != nil {
			return fmt.Errorf("follow the deletion of series: %w", err)
		}
		s.lessons.note(e, func(l *lesson) { l.followed = true })
	}
	return nil
}

// unfollowed returns the deletions of series that this process has not followed.
func (k *lessons) unfollowed() (all []*journal.Entry) {
	k.learning.Lock()
	defer k.learning.Unlock()
	for _, l := range k.learned {
		if l.Whole && l.State != own.DeletionBegun && !l.followed {
			all = append(all, l.Entry)
		}
	}
	return all
}

// note changes what this process knows of a deletion.
func (k *lessons) note(e *journal.Entry, change func(l *lesson)) {
	k.learning.Lock()
	defer k.learning.Unlock()
	if l := k.learned[string(e.Key)]; l != nil {
		change(l)
	}
}

// followSome forgets those of some series that have lost their rows of tsdb-meta, and registers
// those of them anew into which this process has written since.
func (s *sharedDeleter) followSome(ctx context.Context, ids []index.ID) error {
	var gone []index.ID
	var used map[index.ID]bool
	err := s.held.while(ctx, ids, func(ctx context.Context) (err error) {
		if err := s.follow(ctx, ids); err != nil {
			return err
		}
		gone = slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return s.registry.Of(id).Exists() })
		used, err = s.usage.writtenTo(ctx, gone)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.usage.addBeside(ctx, gone, used); err != nil { // nobody waits for this look
		return err
	}
	ids = slices.DeleteFunc(ids, func(id index.ID) bool { return !used[id] })
	if len(ids) == 0 {
		return nil
	}
	return s.revive(ctx, ids)
}

// resume carries out what is unfinished and no other process's, and looks once more at the rows of
// deletions that were done before a time. One that fails does not keep others from that.
func (s *sharedDeleter) resume(ctx context.Context, before time.Time) error {
	select {
	case s.running <- struct{}{}:
		defer s.running.free()
	default:
		return nil // a deletion is under way; what is left waits
	}
	return s.goOnAll(ctx, before)
}

// goOnAll is resume for a caller that holds the turn.
func (s *sharedDeleter) goOnAll(ctx context.Context, before time.Time) error {
	if err := s.repeat(ctx); err != nil {
		return err
	}
	var failed error
	for _, e := range s.due(before) {
		if err := s.goOn(ctx, e, before); err != nil && !errors.Is(err, storage.ErrBroken) {
			failed = cmp.Or(failed, fmt.Errorf("finish a deletion: %w", err))
		}
	}
	return errors.Join(failed, s.clean(ctx))
}

// goOn takes the next step of a deletion.
func (s *sharedDeleter) goOn(ctx context.Context, e *journal.Entry, before time.Time) error {
	if mine, err := s.journal.Renew(ctx, e); err != nil || !mine {
		return err // read again in the next round
	}
	d, err := s.read(ctx, e)
	if err != nil {
		return err
	}
	switch {
	case e.State == own.DeletionBegun:
		_, err = s.carryOut(ctx, e, d, false)
	case e.Done <= before.UnixMilli():
		err = s.settle(ctx, e, d)
	default:
		err = s.lookSoon(ctx, e, d)
	}
	return err
}

// due returns the deletions that this process may go on with.
func (s *sharedDeleter) due(before time.Time) (due []*journal.Entry) {
	s.lessons.learning.Lock()
	defer s.lessons.learning.Unlock()
	for _, l := range s.lessons.learned {
		done := l.State == own.DeletionDone
		open := l.State == own.DeletionBegun || done && l.Done <= before.UnixMilli() ||
			done && !l.looked && s.journal.Mine(l.Entry) && l.Done <= s.now().Add(-soonAfter).UnixMilli()
		if e := *l.Entry; open && s.journal.Free(&e) {
			due = append(due, &e)
		}
	}
	return due
}

// read returns a deletion of the journal with all its series. Those that are not known here are
// made known, so that their rows are found.
func (s *sharedDeleter) read(ctx context.Context, e *journal.Entry) (Deletion, error) {
	l := lesson{Entry: e}
	d := l.deletion()
	err := s.journal.Series(ctx, e, func(tsuids [][]byte) error {
		for _, tsuid := range tsuids {
			id, added, err := s.table.index.Add(tsuid)
			if err != nil {
				return fmt.Errorf("%w: %w", journal.ErrLost, err)
			}
			if added {
				s.registry.Forget([]index.ID{id})
			}
			d.IDs = append(d.IDs, id)
		}
		return nil
	})
	return d, err
}

// lookSoon looks at the rows of a deletion that this process has just carried out.
func (s *sharedDeleter) lookSoon(ctx context.Context, e *journal.Entry, d Deletion) error {
	if err := s.lookAgain(ctx, e, d); err != nil {
		return err
	}
	s.lessons.note(e, func(l *lesson) { l.looked = true })
	return nil
}

// settle looks once more at the rows of a deletion.
func (s *sharedDeleter) settle(ctx context.Context, e *journal.Entry, d Deletion) error {
	if err := s.lookAgain(ctx, e, d); err != nil {
		return err
	}
	_, err := s.journal.Change(ctx, e, func(next *own.Deletion) { next.State = own.DeletionSettled })
	return err
}

// lookAgain deletes what has come since from the rows of a deletion, and registers series that have
// later points: the process that wrote these may have ended before it could.
func (s *sharedDeleter) lookAgain(ctx context.Context, e *journal.Entry, d Deletion) error {
	r := s.removal(e, &d, false)
	if err := r.all(ctx, d.IDs); err != nil || !d.Whole {
		return err
	}
	if d.onlyEmpty() {
		if err := s.usage.findStored(ctx, d.IDs, r.shared); err != nil {
			return err
		}
	}
	back := slices.DeleteFunc(d.IDs, func(id index.ID) bool { return !r.shared.left[s.table.index.TSUID(id)] || s.registry.Of(id).Exists() })
	for some := range slices.Chunk(back, rowsPerRead) {
		if err := s.revive(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// repeat carries out once more what a replay has found.
func (s *sharedDeleter) repeat(ctx context.Context) error {
	s.lessons.learning.Lock()
	again := s.lessons.again
	s.lessons.again = nil
	s.lessons.learning.Unlock()
	for i, d := range again {
		if err := s.unrecorded(&d, d.until, false).all(ctx, d.IDs); err != nil {
			s.lessons.repeatLater(again[i:])
			return err
		}
	}
	return nil
}

// repeatLater has parts of deletions carried out once more.
func (k *lessons) repeatLater(parts []Deletion) {
	k.learning.Lock()
	defer k.learning.Unlock()
	k.again = append(k.again, parts...)
}

// clean removes from the journal what no process needs any more.
func (s *sharedDeleter) clean(ctx context.Context) error {
	s.lessons.learning.Lock()
	defer s.lessons.learning.Unlock()
	for key, l := range s.lessons.learned {
		if s.journal.Old(l.Entry) {
			if err := s.journal.Remove(ctx, l.Entry); err != nil {
				return err
			}
			delete(s.lessons.learned, key)
		}
	}
	return nil
}

// reports tell an operator what of the journal cannot be followed.
type reports struct {
	logger *slog.Logger
}
