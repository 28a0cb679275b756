package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// restoringName is a file in a folder while a backup is copied into it. A folder with it is no
// store.
const restoringName = "RESTORING"

// What Restore refuses.
var (
	// ErrNotEmpty means that there are files where a backup is to be put.
	ErrNotEmpty = errors.New("is not empty")
	// ErrNoStore means that a folder holds no store.
	ErrNoStore = errors.New("holds no store")
	// ErrRestoring means that a restore into a folder was cut short.
	ErrRestoring = errors.New("a restore into it was cut short: empty the directory and restore again")
)

// Restore copies a backup (a folder that Checkpoint made, or that of a store which no process has
// open) into the folder of o, which must be empty or not exist, and opens it once to find out
// whether the backup is of another form or not whole. The backup is not changed. After any failure
// the folder is empty again, or marked as one that nothing is to be opened from.
func Restore(ctx context.Context, o Options, from string) error {
	if err := restore(ctx, o, from, onDisk()); err != nil {
		return fmt.Errorf("restore %q to %q: %w", from, o.Path, err)
	}
	return nil
}

func restore(ctx context.Context, o Options, from string, files vfs.FS) (err error) {
	unlock, err := openBackup(from, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := checkEmpty(o.Path, files); err != nil {
		return err
	}
	switch err := compareSums(ctx, files, from); {
	case errors.Is(err, ErrNoSums):
		orDiscard(o.Logger).Warn("the backup has no checksums, so it cannot be verified; prefer one that has some", "path", from)
	case err != nil:
		return err
	}
	if err := makeFolder(files, o.Path); err != nil {
		return err
	}
	mark := files.PathJoin(o.Path, restoringName)
	if err := touch(files, mark); err != nil {
		return err
	}
	if err := fill(ctx, o, from, files); err != nil {
		return errors.Join(err, empty(o.Path, files))
	}
	if err := files.Remove(mark); err != nil {
		return err
	}
	return syncFolder(files, o.Path)
}

// openBackup checks that a folder contains a store, and locks it against changes by other
// processes. A backup that was never opened has no lock file, and may be on a read-only file
// system.
func openBackup(from string, files vfs.FS) (unlock func() error, err error) {
	if strings.HasSuffix(from, partialSuffix) {
		return nil, fmt.Errorf("%q %w: the backup was not finished", from, ErrNoStore)
	}
	names, err := files.List(from)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "marker.manifest.") }) {
		return nil, fmt.Errorf("%q %w", from, ErrNoStore)
	}
	if err := checkRestored(from, files); err != nil {
		return nil, err
	}
	if !slices.Contains(names, lockName) {
		return func() error { return nil }, nil
	}
	lock, err := lockFolder(from, files, 0)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", from, err)
	}
	return lock.Close, nil
}

// fill copies the backup and opens the copy.
func fill(ctx context.Context, o Options, from string, files vfs.FS) error {
	if err := copyFolder(ctx, files, from, o.Path); err != nil {
		return err
	}
	o.restoring = true
	e, err := open(o, files, func() int64 { return time.Now().UnixMilli() })
	if err != nil {
		return err
	}
	return e.Close()
}

// checkEmpty passes a folder that is not there, and what a file system puts into a new one.
func checkEmpty(path string, files vfs.FS) error {
	names, err := files.List(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.Contains(names, restoringName) {
		return ErrRestoring
	}
	for _, name := range names {
		if name != lostName {
			return fmt.Errorf("%q %w: it has %s", path, ErrNotEmpty, name)
		}
	}
	return nil
}

// Names in folders that are not the store's rows.
const (
	lockName      = "LOCK"       // of Pebble
	lostName      = "lost+found" // at the root of a file system
	snapshotsName = "snapshots"  // copies that the adapter's admin API made
	partialSuffix = ".partial"   // a copy in the making
)

// checkRestored refuses a folder into which a restore was not finished.
func checkRestored(path string, files vfs.FS) error {
	switch _, err := files.Stat(files.PathJoin(path, restoringName)); {
	case err == nil:
		return ErrRestoring
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// notCopied reports whether a name in a store's folder is not part of the store.
func notCopied(name string) bool {
	return name == lockName || name == lostName || name == snapshotsName || name == asideName
}

// copyFolder copies what is in a folder into one that is there, durably.
func copyFolder(ctx context.Context, files vfs.FS, from, to string) error {
	names, err := files.List(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == sumsName || notCopied(name) {
			continue
		}
		if err := copyEntry(ctx, files, files.PathJoin(from, name), files.PathJoin(to, name)); err != nil {
			return err
		}
	}
	return syncFolder(files, to)
}

func copyEntry(ctx context.Context, files vfs.FS, from, to string) error {
	info, err := files.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return vfs.Copy(files, from, to)
	}
	if err := files.MkdirAll(to, folderMode); err != nil {
		return err
	}
	return copyFolder(ctx, files, from, to)
}

// empty removes what is in a folder; the mark goes last.
func empty(path string, files vfs.FS) error {
	names, err := files.List(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == restoringName || name == lostName {
			continue
		}
		if err := files.RemoveAll(files.PathJoin(path, name)); err != nil {
			return err
		}
	}
	return files.Remove(files.PathJoin(path, restoringName))
}

// makeFolder makes a folder and those above it, durably.
func makeFolder(files vfs.FS, path string) error {
	switch _, err := files.Stat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	above := files.PathDir(path)
	if above != path {
		if err := makeFolder(files, above); err != nil {
			return err
		}
	}
	if err := files.MkdirAll(path, folderMode); err != nil {
		return err
	}
	return syncFolder(files, above)
}

// touch makes a file, durably.
func touch(files vfs.FS, name string) error {
	f, err := files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncFolder(files, files.PathDir(name))
}
