package write

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// replayFilter leaves out of a log that is replayed what the journal deletes. The head alone could
// not tell: it keeps one age for all that stands at an instant. It reads the series of a deletion
// when it meets the first record that the deletion could be about.
type replayFilter struct {
	index   *index.Index
	entries []*journal.Entry // the latest first
	read    int              // of entries, whose series are in of
	of      map[string][]int // of entries, by TSUID
	lost    map[int][]openHour
	series  func(ctx context.Context, e *journal.Entry) ([][]byte, error) // the TSUIDs of a deletion
}

// openHour is an hour of a series in the head.
type openHour struct {
	id   index.ID
	base uint32
}

// newReplayFilter reads which deletions there are.
func (s *sharedDeleter) newReplayFilter(ctx context.Context) (*replayFilter, error) {
	f := &replayFilter{index: s.table.index, of: map[string][]int{}, lost: map[int][]openHour{}, series: s.seriesOf}
	err := s.untilRead(ctx, func() error {
		entries, bad, err := s.journal.Entries(ctx, 0)
		if err == nil {
			s.reports.warn(bad)
		}
		f.entries = entries
		return err
	})
	f.sort()
	return f, err
}

// sort puts the latest deletions first.
func (f *replayFilter) sort() {
	slices.SortFunc(f.entries, func(a, b *journal.Entry) int { return cmp.Compare(b.Until, a.Until) })
}

// seriesOf reads the TSUIDs of a deletion.
func (s *sharedDeleter) seriesOf(ctx context.Context, e *journal.Entry) (all [][]byte, err error) {
	err = s.untilRead(ctx, func() error {
		all = nil
		return s.reports.passLost(s.journal.Series(ctx, e, func(tsuids [][]byte) error {
			all = append(all, tsuids...)
			return nil
		}))
	})
	return all, err
}

// untilRead calls read until it succeeds. An error means that ctx ended.
func (s *sharedDeleter) untilRead(ctx context.Context, read func() error) error {
	var outcome retry.Outcome
	if !retry.Until(ctx, retry.Pauses{First: 100 * time.Millisecond, Longest: 10 * time.Second}, func() (done bool) {
		err := read()
		if outcome.Note(ctx, err) {
			s.reports.logger.Error("the deletions of all processes cannot be read, and the replay of the log waits for them; see /-/ready", "err", err)
		}
		return err == nil
	}) {
		return ctx.Err()
	}
	return nil
}

// pass returns what stays of a batch that was acknowledged at a time.
func (f *replayFilter) pass(ctx context.Context, b *storage.Batch, acknowledged int64) (*storage.Batch, error) {
	if f == nil {
		return b, nil
	}
	if err := f.reach(ctx, acknowledged); err != nil || len(f.of) == 0 {
		return b, err
	}
	gone := 0
	stays := func(ref storage.Ref, time int64) bool {
		for _, n := range f.of[f.index.TSUID(index.IDOf(ref))] {
			if e := f.entries[n]; acknowledged <= e.Until && time >= e.Start && time <= e.End {
				f.lose(n, openHour{index.IDOf(ref), schema.Base(time)})
				gone++
				return false
			}
		}
		return true
	}
	kept, _ := split(b, stays)
	if gone == 0 {
		return b, nil
	}
	return kept, nil
}

// reach reads the series of the deletions that delete what was acknowledged at a time.
func (f *replayFilter) reach(ctx context.Context, acknowledged int64) error {
	for ; f.read < len(f.entries) && acknowledged <= f.entries[f.read].Until; f.read++ {
		tsuids, err := f.series(ctx, f.entries[f.read])
		if err != nil {
			return err
		}
		for _, tsuid := range tsuids {
			f.of[string(tsuid)] = append(f.of[string(tsuid)], f.read)
		}
	}
	return nil
}

// until returns the time of the latest deletion.
func (f *replayFilter) until() int64 {
	if len(f.entries) == 0 {
		return 0
	}
	return f.entries[0].Until
}

// lose remembers an hour that lost points, once for a run of them.
func (f *replayFilter) lose(n int, h openHour) {
	if hours := f.lost[n]; len(hours) == 0 || hours[len(hours)-1] != h {
		f.lost[n] = append(hours, h)
	}
}

// replayed takes over what a filter knows: the head has nothing that its deletions delete, and
// what is acknowledged from now on is later.
func (s *sharedDeleter) replayed(f *replayFilter) {
	s.table.stamps.see(f.until() + 1)
	s.lessons.repeatLater(f.repeat())
	s.lessons.learning.Lock()
	defer s.lessons.learning.Unlock()
	for _, e := range f.entries {
		s.lessons.learned[string(e.Key)] = &lesson{Entry: e, cut: e.Until}
	}
}

// repeat returns the parts of deletions of which the log had points: the process that wrote the log
// may have put these points before it ended, without having read the journal.
func (f *replayFilter) repeat() (again []Deletion) {
	for n, hours := range f.lost {
		l := lesson{Entry: f.entries[n]}
		again = append(again, l.deletion().within(hours))
	}
	return again
}
