package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// ErrNoBackup says that the engine cannot copy itself.
var ErrNoBackup = errors.New("the engine has no backups")

// Backup copies the tables, as they are at one moment, into a folder that must not exist, while others write. Every point that was acknowledged before
// the call is in it: what waits in memory is put into the table first, so a backup needs no log. Of those acknowledged meanwhile
// there are some, and each series that has points has its names.
func (s *Store) Backup(ctx context.Context, dir string) error {
	if s.db.Local == nil {
		return ErrNoBackup
	}
	if err := s.replayed(); err != nil {
		return err
	}
	if s.buffer != nil {
		if err := s.flushRows(ctx, head.Everything()); err != nil {
			return fmt.Errorf("put what is in memory: %w", err)
		}
	}
	err := s.db.Local.Checkpoint(ctx, dir)
	if errors.Is(err, kv.ErrNoFiles) {
		return ErrNoBackup
	}
	return err
}
