package store

import "context"

// DeleteOld runs one pass of the retention.
func (s *Store) DeleteOld(ctx context.Context) error { return s.writer.Steps().DeleteOld(ctx) }

// Refresh does what the store does each IndexRefresh.
func (s *Store) Refresh(ctx context.Context, since int64) error { return s.loader.Load(ctx, since) }

// FlushAll puts all rows of the head into the table.
func (s *Store) FlushAll(ctx context.Context) error { return s.writer.FlushAll(ctx) }

// FlushDue puts the rows of the head into the table that are due.
func (s *Store) FlushDue(ctx context.Context) error { return s.writer.Steps().FlushDue(ctx) }

// FinishDeletions finishes what is unfinished of deletions.
func (s *Store) FinishDeletions(ctx context.Context) error {
	return s.writer.Steps().FinishDeletions(ctx)
}

// VerifyAll checks all rows that were put without being read.
func (s *Store) VerifyAll(ctx context.Context) error { return s.writer.Steps().VerifyAll(ctx) }

// VerifyDue checks those of them that are due.
func (s *Store) VerifyDue(ctx context.Context) error { return s.writer.Steps().VerifyDue(ctx) }

// Buffered reports whether the store has a log.
func (s *Store) Buffered() bool { return s.writer.Head() != nil }

// OpenRows returns the number of rows in the head.
func (s *Store) OpenRows() int { return s.openRows() }

// FollowDeletions follows and finishes the deletions of all processes.
func (s *Store) FollowDeletions(ctx context.Context) error {
	return s.writer.Steps().FollowDeletions(ctx)
}
