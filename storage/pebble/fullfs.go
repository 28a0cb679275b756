package pebble

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fullFS makes writers that meet a full disk, or one that became read-only, wait until it takes
// writes: until there is space for blocks, files and quota. Pebble ends the process when its log or
// its MANIFEST cannot be written, with its locks held. Until then new writes are refused (see
// diskSpace.want), so only those under way wait. When the store is closed, nothing waits.
type fullFS struct {
	vfs.FS
	space *diskSpace
}

// Unwrap implements vfs.FS.
func (f fullFS) Unwrap() vfs.FS { return f.FS }

// whileFull tries again while the disk takes no writes.
func (r *diskSpace) whileFull(try func() error) error {
	err := try()
	if !takesNoWrites(err) {
		return err
	}
	met := err // err changes below
	r.stuckBy.Store(&met)
	if r.stuck.Add(1) == 1 {
		r.log.Error("embedded store: the disk takes no writes, those under way wait until it does and others are refused; free space or repair the disk", "path", r.path, "err", err)
	}
	defer func() {
		if r.stuck.Add(-1) == 0 && err == nil {
			r.log.Info("embedded store: the disk takes writes again", "path", r.path)
		}
	}()
	again := time.NewTicker(waitEvery)
	defer again.Stop()
	for takesNoWrites(err) {
		select {
		case <-r.ending:
			return err
		case <-again.C:
			err = try()
		}
	}
	return err
}

// copying has the writers below a folder fail on a full disk, until done is called: a copy of the store can be made
// again, and nothing else waits for it.
func (r *diskSpace) copying(dir string) (done func()) {
	r.copies.Store(dir, true)
	return func() { r.copies.Delete(dir) }
}

// isCopy reports whether a file belongs to a copy that is being made.
func (r *diskSpace) isCopy(name string) (found bool) {
	r.copies.Range(func(dir, _ any) bool {
		folder, _ := dir.(string)
		found = name == folder || strings.HasPrefix(name, folder+string(filepath.Separator))
		return !found
	})
	return found
}

// whileFull tries again while the disk is full, but for a copy.
func (f fullFS) whileFull(name string, try func() error) error {
	if f.space.isCopy(name) {
		return try()
	}
	return f.space.whileFull(try)
}

func (f fullFS) file(name string, create func() (vfs.File, error)) (file vfs.File, err error) {
	err = f.whileFull(name, func() (err error) { file, err = create(); return err })
	if err != nil || f.space.isCopy(name) {
		return file, err
	}
	return &waitingFile{file, f.space}, nil
}

// Create implements vfs.FS.
func (f fullFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// ReuseForWrite implements vfs.FS.
func (f fullFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(to, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, category) })
}

// Rename implements vfs.FS.
func (f fullFS) Rename(from, to string) error {
	return f.whileFull(to, func() error { return f.FS.Rename(from, to) })
}

// Link implements vfs.FS.
func (f fullFS) Link(from, to string) error {
	return f.whileFull(to, func() error { return f.FS.Link(from, to) })
}

// MkdirAll implements vfs.FS.
func (f fullFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.whileFull(dir, func() error { return f.FS.MkdirAll(dir, perm) })
}

// waitingFile is a file whose writes wait for space.
type waitingFile struct {
	vfs.File
	space *diskSpace
}

// Write implements vfs.File.
func (f *waitingFile) Write(p []byte) (n int, err error) {
	err = f.space.whileFull(func() error {
		more, err := f.File.Write(p[n:])
		n += more
		return err
	})
	return n, err
}
