package storage

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A Deletion describes what to delete.
type Deletion struct {
	Refs       []Ref
	Start, End int64 // milliseconds, inclusive
	// Whole deletes all points of the series, regardless of Start and End, and the series
	// themselves: their rows of tsdb-meta and of the trees. Their UIDs stay assigned. A later point
	// registers its series anew.
	Whole bool
	// Repeated means that the caller deletes the same again from time to time, as a retention does.
	// Shared tables then have no record of the deletion: older points that another process puts
	// later, or that this one replays after a kill, stay until the next time.
	Repeated bool
}

// Deleted counts what a deletion did: the Rows of the table that it deleted or changed, and the
// Series that it deleted as a whole.
type Deleted = write.Deleted

// ErrBroken means that a deletion left rows as they are because they cannot be read.
var ErrBroken = write.ErrBroken

// ErrUnfinished means that the rest of a deletion follows by itself.
var ErrUnfinished = write.ErrUnfinished

// Delete deletes points and objects of series. When it returns without an error, the deletion is
// durable: everything acknowledged before Delete began is gone, from the log, the head and the
// table. What is appended after Delete has returned stays; what is appended while it runs may stay
// or not. On a disk without space nothing is begun. After another error some points may be deleted; after
// ErrUnfinished the others are deleted later. The deletion may be repeated.
func (s *Store) Delete(ctx context.Context, d Deletion) (Deleted, error) {
	w := write.Deletion{Start: d.Start, End: d.End, Whole: d.Whole, Repeated: d.Repeated, IDs: make([]index.ID, len(d.Refs))}
	if d.Whole {
		w.Start, w.End = 0, series.MaxTime
	}
	known := s.index.Len()
	for i, ref := range d.Refs {
		if err := ref.Check(known); err != nil {
			return Deleted{}, err
		}
		w.IDs[i] = ref.ID()
	}
	if err := s.forgetFilled(ctx); err != nil {
		return Deleted{}, err
	}
	if s.filler != nil && !w.Repeated {
		done, err := s.filler.Deleting(ctx, s.index.TSUIDs(nil, w.IDs), w.Start, w.End)
		if err != nil {
			return Deleted{}, err
		}
		defer done()
	}
	return s.writer.Delete(ctx, w)
}

// deleteRolled deletes the rolled up values and the slots of archives that a deletion covers; see
// write.Options.DeleteRolled.
func (s *Store) deleteRolled(ctx context.Context, d *write.Deletion, until int64) error {
	if s.rollups == nil && s.archives == nil {
		return nil
	}
	tsuids := s.index.TSUIDBytes(nil, d.IDs)
	if s.archives != nil {
		if err := s.archives.Delete(ctx, tsuids, d.Start, d.End, until); err != nil {
			return err
		}
	}
	if s.rollups == nil {
		return nil
	}
	return s.rollups.Delete(ctx, tsuids, d.Start, d.End, until)
}

// A Tally counts what a deletion would delete.
type Tally struct {
	Series          int // with points or objects in the time of the deletion
	Points, Objects int
}

// Tally counts what a deletion would delete, and deletes nothing. It reads all points.
func (s *Store) Tally(ctx context.Context, d Deletion) (t Tally, err error) {
	q := Query{Refs: d.Refs, Start: d.Start, End: d.End, Samples: true, Exemplars: true}
	if d.Whole {
		q.Start, q.End = 0, series.MaxTime
	}
	for p, err := range s.Select(ctx, q) {
		if err != nil {
			return Tally{}, err
		}
		t.Series++
		t.Points += len(p.Times)
		t.Objects += len(p.Objects)
	}
	return t, nil
}

// newRetainer returns what deletes points by the rules of the retention.
func (s *Store) newRetainer() *retention.Retainer {
	s.retention.Store(&s.o.RetentionRules)
	return retention.New(retention.Options{
		Rules: s.o.RetentionRules, Catalog: s.catalog, Now: s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
		Delete: func(ctx context.Context, refs []Ref, start, end int64) (int, error) {
			deleted, err := s.Delete(ctx, Deletion{Refs: refs, Start: start, End: end, Repeated: true})
			return deleted.Rows, err
		},
	})
}

// DeleteByRules makes a pass of the rules of the retention, as Run does each hour.
func (s *Store) DeleteByRules(ctx context.Context) error {
	return s.retainer.Pass(ctx)
}

// SetRetentionRules replaces the rules of the retention. They must have been checked as those of Options.
func (s *Store) SetRetentionRules(rules []RetentionRule) {
	s.retention.Store(&rules)
	s.retainer.SetRules(rules)
}

// SetSeriesLimits replaces the limits of new series.
func (s *Store) SetSeriesLimits(limits SeriesLimits) { s.registrar.SetLimits(limits) }
