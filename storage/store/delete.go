package store

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Delete deletes points and objects of series. When it returns without an error, the deletion is
// durable: everything acknowledged before Delete began is gone, from the log, the head and the
// table. What is appended after Delete has returned stays; what is appended while it runs may stay
// or not. On a disk without space nothing is begun. After another error some points may be deleted; after
// ErrUnfinished the others are deleted later. The deletion may be repeated.
func (s *Store) Delete(ctx context.Context, d storage.Deletion) (storage.Deleted, error) {
	w := write.Deletion{Start: d.Start, End: d.End, Whole: d.Whole, Repeated: d.Repeated, IDs: make([]index.ID, len(d.Refs))}
	if d.Whole {
		w.Start, w.End = 0, storage.MaxTime
	}
	known := s.index.Len()
	for i, ref := range d.Refs {
		if err := ref.Check(known); err != nil {
			return storage.Deleted{}, err
		}
		w.IDs[i] = index.IDOf(ref)
	}
	if err := s.forgetFilled(ctx); err != nil {
		return storage.Deleted{}, err
	}
	if s.filler != nil && !w.Repeated {
		done, err := s.filler.Deleting(ctx, s.index.TSUIDs(nil, w.IDs), w.Start, w.End)
		if err != nil {
			return storage.Deleted{}, err
		}
		defer done()
	}
	return s.writer.Delete(ctx, w)
}

// deleteRolled deletes the rolled up values and the slots of archives that a deletion covers; see
// write.Options.DeleteRolled.
func (s *parts) deleteRolled(ctx context.Context, d *write.Deletion, until int64) error {
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

// Tally counts what a deletion would delete, and deletes nothing. It reads all points.
func (s *Store) Tally(ctx context.Context, d storage.Deletion) (t storage.Tally, err error) {
	q := storage.Query{Refs: d.Refs, Start: d.Start, End: d.End, Samples: true, Exemplars: true}
	if d.Whole {
		q.Start, q.End = 0, storage.MaxTime
	}
	for p, err := range s.Select(ctx, q) {
		if err != nil {
			return storage.Tally{}, err
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
		Delete: func(ctx context.Context, refs []storage.Ref, start, end int64) (int, error) {
			deleted, err := s.Delete(ctx, storage.Deletion{Refs: refs, Start: start, End: end, Repeated: true})
			return deleted.Rows, err
		},
	})
}

// DeleteByRules makes a pass of the rules of the retention, as Run does each hour.
func (s *Store) DeleteByRules(ctx context.Context) error {
	return s.retainer.Pass(ctx)
}

// SetRetentionRules replaces the rules of the retention. They must have been checked as those of Options.
func (s *Store) SetRetentionRules(rules []retention.Rule) {
	s.retention.Store(&rules)
	s.retainer.SetRules(rules)
}

// SetSeriesLimits replaces the limits of new series.
func (s *Store) SetSeriesLimits(limits register.SeriesLimits) { s.registrar.SetLimits(limits) }
