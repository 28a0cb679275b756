package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Checkpoint copies the store as it is at one moment, with all that was written before the call,
// into a folder that must not exist. Writers go on. On the file system of the store this takes no
// space and next to no time, since files that do not change are linked; space is needed as the
// store moves on. A folder that has its name is whole: until then it is called dir + ".partial",
// which the next try begins again. On a full disk, also one without inodes, it fails and leaves
// nothing.
//
// To restore, open the folder, or a copy of it, as Options.Path. Opening changes a folder: open a
// copy of a backup that is to be kept.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	if err := e.checkpoint(ctx, filepath.Clean(dir)); err != nil {
		return fmt.Errorf("checkpoint to %q: %w", dir, err)
	}
	return nil
}

func (e *Engine) checkpoint(ctx context.Context, dir string) error {
	if err := errors.Join(ctx.Err(), e.space.reading(), e.space.waits()); err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	if !e.durability.Sync {
		return kv.ErrNoFiles
	}
	if _, err := e.files.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	partial := dir + partialSuffix
	if err := e.files.RemoveAll(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := e.copyTo(ctx, partial); err != nil {
		return errors.Join(err, e.files.RemoveAll(partial))
	}
	if err := e.files.Rename(partial, dir); err != nil {
		return err
	}
	return syncFolder(e.files, e.files.PathDir(dir))
}

// copyTo makes a copy. On a full disk it fails.
func (e *Engine) copyTo(ctx context.Context, partial string) error {
	if err := e.flushOrFail(ctx); err != nil {
		return err
	}
	defer e.space.copying(partial)()
	state, err := e.lineage.still(func() error { return e.db().Checkpoint(partial) })
	if err == nil {
		err = e.partLife()
	}
	if err != nil {
		return err
	}
	return finishCopy(ctx, e.files, partial, wholeTables(state))
}

// flushOrFail makes all writes durable, or fails on a full disk, where Flush waits.
func (e *tableRows) flushOrFail(ctx context.Context) error {
	return e.space.orFail(ctx, 0, func(ctx context.Context) error { return e.Flush(context.WithoutCancel(ctx)) })
}

// finishCopy gives a copy of a store a mark of its own and the list of sums.
func finishCopy(ctx context.Context, files vfs.FS, dir string, tables ownedTables) error {
	fact, err := ownedNow(files, dir)
	if err != nil {
		return err
	}
	fact.tables = tables
	own, err := keepOwned(files, dir, fact, orDiscard(nil))
	if err != nil {
		return err
	}
	if err := own.close(); err != nil {
		return err
	}
	return writeSums(ctx, files, dir)
}

// ownedNow returns what a mark should contain for a store that no process has open and that is
// taken as it is.
func ownedNow(files vfs.FS, dir string) (fact ownedFact, err error) {
	names, err := files.List(dir)
	if err != nil {
		return fact, err
	}
	for _, name := range names {
		f, ok := ownedOf(name)
		switch {
		case !ok:
			continue
		case f.manifest:
			var got ownedFile
			got, err = manifestSum(files, files.PathJoin(dir, name), math.MaxInt64)
			f.size, f.sum = got.size, got.sum
		default:
			f.size, _, err = walEnd(files, dir, f.number)
		}
		if err != nil {
			return fact, err
		}
		fact.files = append(fact.files, f)
	}
	return fact, nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(files vfs.FS, dir string) error {
	f, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
