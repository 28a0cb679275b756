package write

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// replayFilter leaves out of a log that is replayed what the journal deletes. The head alone could
// not tell: it keeps one age for all that stands at an instant.
type replayFilter struct {
	index   *index.Index
	until   int64 // the latest of all
	entries []*journal.Entry
	of      map[string][]int // of entries, by TSUID
	lost    map[int][]openHour
}

// openHour is an hour of a series in the head.
type openHour struct {
	id   index.ID
	base uint32
}

// newReplayFilter reads the journal. It tries again until it can; nil: ctx ended.
func (s *sharedDeleter) newReplayFilter(ctx context.Context) *replayFilter {
	var f *replayFilter
	var read retry.Outcome
	retry.Until(ctx, retry.Pauses{First: 100 * time.Millisecond, Longest: 10 * time.Second}, func() (done bool) {
		var err error
		if f, err = s.readFilter(ctx); read.Note(ctx, err) {
			s.logger.Error("reading the deletions of all processes before the log is replayed; trying again", "err", err)
		}
		return err == nil
	})
	return f
}

func (s *sharedDeleter) readFilter(ctx context.Context) (*replayFilter, error) {
	entries, bad, err := s.journal.Entries(ctx, 0)
	if err != nil {
		return nil, err
	}
	s.warn(bad)
	f := &replayFilter{index: s.table.index, entries: entries, of: map[string][]int{}, lost: map[int][]openHour{}}
	for n, e := range entries {
		f.until = max(f.until, e.Until)
		err := s.journal.Series(ctx, e, func(tsuids [][]byte) error {
			for _, tsuid := range tsuids {
				f.of[string(tsuid)] = append(f.of[string(tsuid)], n)
			}
			return nil
		})
		if err := s.passLost(err); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// pass returns what stays of a batch that was acknowledged at a time.
func (f *replayFilter) pass(b *series.Batch, acknowledged int64) *series.Batch {
	if f == nil || acknowledged > f.until || len(f.of) == 0 {
		return b
	}
	gone := 0
	stays := func(ref series.Ref, time int64) bool {
		for _, n := range f.of[f.index.TSUID(ref.ID())] {
			if e := f.entries[n]; acknowledged <= e.Until && time >= e.Start && time <= e.End {
				f.lose(n, openHour{ref.ID(), schema.Base(time)})
				gone++
				return false
			}
		}
		return true
	}
	kept, _ := split(b, stays)
	if gone == 0 {
		return b
	}
	return kept
}

// lose remembers an hour that lost points, once for a run of them.
func (f *replayFilter) lose(n int, h openHour) {
	if hours := f.lost[n]; len(hours) == 0 || hours[len(hours)-1] != h {
		f.lost[n] = append(hours, h)
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
