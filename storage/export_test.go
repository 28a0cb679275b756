package storage

import "context"

// DeleteOld is one pass of the retention.
func (s *Store) DeleteOld(ctx context.Context) error { return s.old.pass(ctx) }

// Refresh is what happens each IndexRefresh.
func (s *Store) Refresh(ctx context.Context, since int64) error { return s.refresh(ctx, since) }
