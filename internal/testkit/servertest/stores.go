package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// CopyRunning copies the folder of a store that runs, as a kill at one moment leaves it: it copies
// again when a file has changed meanwhile.
func CopyRunning(t *testing.T, from, to string) {
	t.Helper()
	for before := filesOf(t, from); ; {
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		err := CopySparse(from, to)
		after := filesOf(t, from)
		if maps.Equal(before, after) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		before = after
	}
}

// filesOf returns the size and the time of the last change of each file in a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files[path] = fmt.Sprint(info.Size(), info.ModTime())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// CopySparse copies a folder of files; reserved space of a log becomes a hole.
func CopySparse(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o750))
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return WriteSparse(f, info.Size(), filepath.Join(to, rel))
	})
}

// WriteSparse writes so many bytes into a new file; blocks of zeros become holes.
func WriteSparse(r io.Reader, size int64, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	block, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); at < size && err == nil; {
		var n int
		n, err = io.ReadFull(r, block[:min(int64(len(block)), size-at)])
		if err == nil && !bytes.Equal(block[:n], zeros[:n]) {
			_, err = f.WriteAt(block[:n], at)
		}
		at += int64(n)
	}
	return errors.Join(err, f.Truncate(size), f.Close())
}
