package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// moveFolder renames a folder atomically. On another file system it first copies it under the name
// with ".partial".
func moveFolder(ctx context.Context, from, to string) error {
	to = filepath.Clean(to)
	if err := makeFolder(filepath.Dir(to)); err != nil {
		return err
	}
	switch err := os.Rename(from, to); {
	case err == nil:
		return errors.Join(syncFolder(filepath.Dir(to)), syncFolder(filepath.Dir(from)))
	case !errors.Is(err, syscall.EXDEV):
		return err
	}
	partial := to + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := copyFolder(ctx, from, partial); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	if err := os.Rename(partial, to); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(to)); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// makeFolder creates a folder and its parents, durably.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	return syncFolder(above)
}

// copyFolder copies a folder of files, durably.
func copyFolder(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o750); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return syncFolder(to)
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
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// folderSize returns the size of the files below a folder, 0 if it does not exist.
func folderSize(dir string) (bytes uint64, files int, err error) {
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

// sizeText formats bytes for people.
func sizeText(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func took(o Options, begin time.Time) time.Duration {
	return o.Now().Sub(begin).Round(time.Millisecond)
}
