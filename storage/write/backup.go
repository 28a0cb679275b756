package write

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Backup copies the tables, as they are at one moment, into a folder that must not exist, while
// others write. It contains every point that was acknowledged before the call: what waits in memory
// is put into the table first, so a backup needs no log. It may also contain points acknowledged
// while it ran, and each series that has points has its names.
func (w *Writer) Backup(ctx context.Context, dir string) error {
	if w.o.DB.Local == nil {
		return storage.ErrNoBackup
	}
	if err := w.Replayed(); err != nil {
		return err
	}
	if w.buffer != nil {
		if err := w.FlushAll(ctx); err != nil {
			return fmt.Errorf("put what is in memory: %w", err)
		}
	}
	err := w.o.DB.Local.Checkpoint(ctx, dir)
	if errors.Is(err, kv.ErrNoFiles) {
		return storage.ErrNoBackup
	}
	if err == nil && w.buffer != nil {
		// The mark of the copy says that it is whole without a log; these tables are not any more.
		err = w.buffer.lineage.advance(ctx)
	}
	return err
}
