// Package fsutil moves, makes and measures directories durably, gives what root makes in a directory to the owner of
// the directory, reads configuration files within bounds, and keeps small states as JSON files. It knows no format.
package fsutil

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MoveDir renames a folder atomically. On another file system it first copies it under the name
// with ".partial".
func MoveDir(ctx context.Context, from, to string) error {
	to = filepath.Clean(to)
	if err := MakeDir(filepath.Dir(to)); err != nil {
		return err
	}
	switch err := os.Rename(from, to); {
	case err == nil:
		return errors.Join(syncNames(filepath.Dir(to)), syncNames(filepath.Dir(from)))
	case !errors.Is(err, syscall.EXDEV):
		return err
	}
	partial := to + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := copyAll(ctx, from, partial); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	if err := os.Rename(partial, to); err != nil {
		return err
	}
	if err := syncNames(filepath.Dir(to)); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// MakeDir creates a folder and its parents, durably.
func MakeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if err := MakeDir(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	GiveToOwner(dir)
	return syncNames(above)
}

// copyAll copies a folder of files, durably.
func copyAll(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o750); err != nil {
		return err
	}
	GiveToOwner(to)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return syncNames(to)
}

func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	GiveToOwner(to)
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

// syncNames makes the names in a folder durable.
func syncNames(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// DirSize returns the size of the files below a folder, 0 if it does not exist.
func DirSize(dir string) (bytes uint64, files int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes += uint64(info.Size())
		files++
		return nil
	})
	return bytes, files, err
}
