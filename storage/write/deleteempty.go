package write

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// DeleteEmpty deletes those of some series of which nothing is stored, as Delete does with Whole. It is
// in order with all writes: what is acknowledged before the deletion of its series, or after it, stays,
// and has the series registered. Durable as Delete is.
func (w *Writer) DeleteEmpty(ctx context.Context, ids []index.ID) (deleted storage.Deleted, err error) {
	if !w.o.Registry.Loaded() {
		return storage.Deleted{}, fmt.Errorf("%w: the series are being read", storage.ErrNotReady)
	}
	if err := w.deletable(); err != nil {
		return storage.Deleted{}, err
	}
	if w.buffer != nil {
		if err := w.buffer.await(ctx); err != nil {
			return storage.Deleted{}, err
		}
	}
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id index.ID) bool {
		return !w.o.Registry.Of(id).Exists()
	})
	if len(ids) == 0 {
		return storage.Deleted{}, nil
	}
	begin := time.Now()
	if w.shared != nil {
		deleted, err = w.shared.delete(ctx, Deletion{IDs: ids, Start: 0, End: -1, Whole: true})
	} else {
		deleted, err = w.deleter.deleteEmpty(ctx, ids)
	}
	w.deleter.metrics.ended(begin, deleted, err)
	return deleted, err
}

// deleteEmpty deletes series of which nothing is stored, some at a time: those wait that append to them.
func (d *deleter) deleteEmpty(ctx context.Context, ids []index.ID) (all storage.Deleted, err error) {
	for some := range slices.Chunk(ids, rowsPerRead) {
		deleted, err := d.deleteSomeEmpty(ctx, some)
		all.Series += deleted.Series
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// deleteSomeEmpty looks what is stored while nothing is appended to the series, and begins a deletion of
// the others. From then on the order is that of all deletions.
func (d *deleter) deleteSomeEmpty(ctx context.Context, ids []index.ID) (deleted storage.Deleted, err error) {
	if d.buffer == nil {
		err = d.whileEmpty(ctx, ids, func(ctx context.Context, empty Deletion) error {
			deleted, err = d.deleteUnlogged(ctx, empty)
			return err
		})
		return deleted, err
	}
	if err := d.take(ctx); err != nil {
		return storage.Deleted{}, err
	}
	defer d.release()
	if err := d.finish(ctx); err != nil {
		return storage.Deleted{}, fmt.Errorf("nothing was deleted, an earlier deletion is unfinished: %w", err)
	}
	if err := d.whileEmpty(ctx, ids, d.begin); err != nil {
		return storage.Deleted{}, err
	}
	return d.finishBegun(ctx)
}

// whileEmpty calls act with a deletion of those of some series of which nothing is stored, while nothing
// is appended to them.
func (d *deleter) whileEmpty(ctx context.Context, ids []index.ID, act func(context.Context, Deletion) error) error {
	return d.held.while(ctx, ids, func(ctx context.Context) error {
		stored, err := d.stored(ctx, ids)
		if err != nil {
			return fmt.Errorf("look what is stored of series: %w", err)
		}
		empty := slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return stored[id] })
		if len(empty) == 0 {
			return nil
		}
		return act(ctx, Deletion{IDs: empty, End: storage.MaxTime, Whole: true})
	})
}

// findStored notes, as left, the series of which anything is stored. On shared tables nobody waits for
// that look, which may take long: what is written meanwhile has its series registered again, by the
// process that writes it when it follows the deletion, or by a later look at the rows.
func (u *usage) findStored(ctx context.Context, ids []index.ID, e *erasure) error {
	for some := range slices.Chunk(ids, rowsPerRead) {
		stored, err := u.stored(ctx, some)
		if err != nil {
			return fmt.Errorf("look what is stored of series: %w", err)
		}
		for id := range stored {
			e.left[u.table.index.TSUID(id)] = true
		}
		if err := e.renew(ctx); err != nil {
			return err
		}
	}
	return nil
}
