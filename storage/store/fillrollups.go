package store

import (
	"context"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
)

// newFiller returns what fills rollup tables from points; nil: nothing does.
func (s *parts) newFiller() *job.Filler {
	if len(s.o.FillRules) == 0 {
		return nil
	}
	return job.New(job.Options{
		Rules: s.o.FillRules, Rollups: s.rollups, DB: s.db, Table: s.o.Tables.Tree, Data: s.o.Tables.Data, Layout: s.layout, Catalog: s.catalog,
		Select: s.reader.Select,
		TSUID:  func(ref storage.Ref) string { return s.index.TSUID(index.IDOf(ref)) },
		Lookup: func(ctx context.Context, metric string) (string, error) {
			uids, err := s.uids.Lookup(ctx, storage.MetricName, []string{metric})
			if err != nil {
				return "", err
			}
			return uids[0], nil
		},
		Name: func(ctx context.Context, uid string) (string, error) {
			names, err := s.uids.Names(ctx, storage.MetricName, []string{uid})
			if err != nil {
				return "", err
			}
			return names[0], nil
		},
		Kept: s.kept, Ready: s.readyToFill, Now: s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// kept returns how long points of a series are kept; 0: for ever.
func (s *parts) kept(of storage.Series) time.Duration {
	age := s.o.Retention
	rules := *s.retention.Load()
	for i := range rules {
		if r := &rules[i]; (age == 0 || r.Age < age) && r.Matches(of) {
			age = r.Age
		}
	}
	return age
}

// readyToFill fails while points are read that a deletion is about to delete, or not read yet.
func (s *parts) readyToFill() error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.writer.Replayed(); err != nil {
		return err
	}
	if s.o.Exclusive && s.writer.Unfinished() {
		return fmt.Errorf("%w: a deletion is not finished", storage.ErrNotReady)
	}
	return nil
}

// noteLate returns what the write path tells of points; nil: nobody asks.
func (s *parts) noteLate() func(context.Context, *storage.Batch) error {
	switch {
	case !s.o.Exclusive:
		return nil
	case len(s.o.FillRules) == 0:
		return func(ctx context.Context, _ *storage.Batch) error { return s.forgetFilled(ctx) }
	}
	return func(ctx context.Context, b *storage.Batch) error { return s.filler.Late().Batch(ctx, b) }
}

// forgetFilled is called before points change. A run that does not note which points change has a later one fill
// the rollup tables from the beginning.
func (s *parts) forgetFilled(ctx context.Context) error {
	if s.filler != nil || !s.o.Exclusive || s.forgotten.Load() {
		return nil
	}
	err := job.Forget(ctx, s.db, s.o.Tables.Tree)
	s.forgotten.Store(err == nil)
	return err
}

// WindowLength returns the length of the windows that would answer a query, in milliseconds, whatever its series are; 0:
// they are no help.
func (s *services) WindowLength(q *storage.WindowQuery) int64 { return s.filler.Covers(q) }

// Windows returns what PromQL's functions need of the intervals of series, ascending for each, from the rollup tables where
// these are filled. Joined windows are as those of the points. ErrNoWindows means that the points must be read.
func (s *services) Windows(ctx context.Context, q *storage.WindowQuery) ([][]storage.Window, error) {
	if s.filler == nil {
		return nil, storage.ErrNoWindows
	}
	return s.filler.Windows(ctx, q)
}

// FillRollups fills the rollup tables with all that has closed or changed, as Run does from time to time.
func (s *services) FillRollups(ctx context.Context) error {
	if s.filler == nil {
		return nil
	}
	for {
		if more, err := s.filler.Look(ctx); err != nil || !more {
			return err
		}
	}
}
