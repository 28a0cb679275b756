package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

// openTable opens the file of a table apart from any store. What is damaged is storage.ErrDamaged with
// the file's name.
func openTable(ctx context.Context, files vfs.FS, name string) (r *sstable.Reader, err error) {
	file, err := files.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer func() {
		// the library panics when it does not know the file's form
		if reason := recover(); reason != nil {
			r, err = nil, fmt.Errorf("%w: %s: %v", storage.ErrDamaged, name, reason)
		}
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, err
	}
	options := tuned(Options{}, files)
	options.EnsureDefaults()
	if r, err = sstable.NewReader(ctx, readable, options.MakeReaderOptions()); err != nil {
		return nil, damagedTable(name, err)
	}
	return r, nil
}

func damagedTable(name string, err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", storage.ErrDamaged, name, err)
}

// checkTable reads all blocks of a table.
func checkTable(ctx context.Context, files vfs.FS, name string) error {
	r, err := openTable(ctx, files, name)
	if err != nil {
		return err
	}
	return errors.Join(damagedTable(name, r.ValidateBlockChecksums()), r.Close())
}

// checkTables reads all blocks of all tables in a folder, and returns those that are damaged.
func checkTables(ctx context.Context, files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		if !isTable(name) {
			continue
		}
		switch err := checkTable(ctx, files, files.PathJoin(dir, name)); {
		case errors.Is(err, storage.ErrDamaged):
			wrong = append(wrong, err)
		case err != nil:
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return errors.Join(wrong...)
}
