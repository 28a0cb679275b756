package log

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// OS is the file system of the operating system.
type OS struct{}

// MakeDir implements FS.
func (o OS) MakeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := o.MakeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	fsutil.GiveToOwner(dir)
	return o.SyncDir(parent)
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// Lock implements FS.
func (OS) Lock(name string) (io.Closer, error) {
	f, _, err := openOrRead(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	fsutil.GiveToOwner(name)
	return f, nil
}

// Create implements FS.
func (OS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, err
	}
	fsutil.GiveToOwner(name)
	return osFile{f}, nil
}

// Open implements FS.
func (OS) Open(name string) (File, error) {
	f, readOnly, err := openOrRead(name, os.O_RDWR)
	switch {
	case err != nil:
		return nil, err
	case readOnly:
		return readFile{osFile{f}}, nil
	}
	return osFile{f}, nil
}

// openOrRead opens a file, and one on a read-only file system to be read.
func openOrRead(name string, flags int) (f *os.File, readOnly bool, err error) {
	f, err = os.OpenFile(name, flags, 0o640)
	if !errors.Is(err, syscall.EROFS) {
		return f, false, err
	}
	if f, readErr := os.Open(name); readErr == nil {
		return f, true, nil
	}
	return nil, true, err
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Allocate(size int64) error { return allocate(f.File, size) }

// readFile is a file on a read-only file system.
type readFile struct{ osFile }

func (f readFile) WriteAt([]byte, int64) (int, error) { return 0, f.refusal("write") }

func (f readFile) Truncate(int64) error { return f.refusal("truncate") }

func (f readFile) Allocate(int64) error { return f.refusal("allocate") }

func (f readFile) refusal(op string) error {
	return &fs.PathError{Op: op, Path: f.Name(), Err: syscall.EROFS}
}

func (f osFile) SyncData() error { return syncData(f.File) }

// writeZeros is what is left where the system cannot reserve blocks. It costs a write of the
// segment once; later segments reuse its blocks.
func writeZeros(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := info.Size(); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
