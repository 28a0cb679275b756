package pebble

import (
	"hash/crc32"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Modes of what a store makes: its owner writes, its group reads.
const (
	fileMode   = 0o640
	folderMode = 0o750
)

// ownedFS keeps the mark of a store up to date with its files, and gives files their modes.
type ownedFS struct {
	vfs.FS
	path string
	own  *owned
	real bool    // the operating system's
	keep *keeper // nil: what is to be removed is removed

	readers *readers // nil: the files to be removed have no readers
}

// Unwrap implements vfs.FS.
func (f *ownedFS) Unwrap() vfs.FS { return f.FS }

// of returns which owned file of this store a name is.
func (f *ownedFS) of(name string) (ownedFile, bool) {
	if f.PathDir(name) != f.path && f.PathDir(name) != f.PathDir(f.PathJoin(f.path, "x")) {
		return ownedFile{}, false
	}
	return ownedOf(f.PathBase(name))
}

// Create implements vfs.FS.
func (f *ownedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	f.restrict(name)
	return f.watch(name, file), nil
}

// restrict takes the modes from a new file that the process' umask leaves and this store does not
// give. The umask itself may leave less.
func (f *ownedFS) restrict(name string) {
	if !f.real {
		return
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&^fileMode != 0 {
		_ = os.Chmod(name, info.Mode().Perm()&fileMode) // a file system without modes
	}
}

func (f *ownedFS) watch(name string, file vfs.File) vfs.File {
	if owned, ok := f.of(name); ok && f.own != nil {
		return &watchedFile{File: file, own: f.own, now: owned}
	}
	return file
}

// MkdirAll implements vfs.FS.
func (f *ownedFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.FS.MkdirAll(dir, perm&folderMode)
}

// ReuseForWrite implements vfs.FS.
func (f *ownedFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.release(from); err != nil {
		return nil, err
	}
	file, err := f.FS.ReuseForWrite(from, to, category)
	if err != nil {
		return nil, err
	}
	f.restrict(to)
	return f.watch(to, file), nil
}

// Remove implements vfs.FS.
func (f *ownedFS) Remove(name string) error {
	if f.keep != nil && isTable(name) {
		if kept, err := f.keep.keep(f.FS, name); kept || err != nil {
			return err
		}
	}
	if f.readers.need(name) {
		return nil
	}
	if err := f.release(name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *ownedFS) release(name string) error {
	if owned, ok := f.of(name); ok && f.own != nil {
		return f.own.release(owned)
	}
	return nil
}

// watchedFile is a file that is written from its beginning to its end, by one goroutine at a time.
type watchedFile struct {
	vfs.File
	own *owned
	now ownedFile // as far as it is written
}

// Write implements vfs.File.
func (f *watchedFile) Write(p []byte) (int, error) {
	var sum uint32
	if f.now.manifest {
		// The sum comes before the write: a file may change the bytes that it is given (Pebble's in
		// memory does, in race builds).
		sum = crc32.Update(f.now.sum, castagnoli(), p)
	}
	n, err := f.File.Write(p)
	f.now.size += int64(n)
	if f.now.manifest {
		if n < len(p) {
			sum = crc32.Update(f.now.sum, castagnoli(), p[:n])
		}
		f.now.sum = sum
	}
	return n, err
}

// Sync implements vfs.File.
func (f *watchedFile) Sync() error { return f.after(f.File.Sync) }

// SyncData implements vfs.File.
func (f *watchedFile) SyncData() error { return f.after(f.File.SyncData) }

func (f *watchedFile) after(sync func() error) error {
	now := f.now // what is written meanwhile may not be on the disk
	if err := sync(); err != nil {
		return err
	}
	f.own.synced(now)
	return nil
}
