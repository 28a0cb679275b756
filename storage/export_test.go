package storage

import "context"

// DeleteOld is one pass of the retention.
func (s *Store) DeleteOld(ctx context.Context) error { return s.old.pass(ctx) }
