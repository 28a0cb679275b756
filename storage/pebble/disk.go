package pebble

import (
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// disk is the file system of the operating system. What root makes on it belongs to the owner of the
// folder that it is in.
type disk struct{ vfs.FS }

func onDisk() vfs.FS { return disk{vfs.Default} }

// Unwrap implements vfs.FS.
func (d disk) Unwrap() vfs.FS { return d.FS }

// Create implements vfs.FS.
func (d disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return given(name)(d.FS.Create(name, category))
}

// OpenReadWrite implements vfs.FS. It makes a file that does not exist.
func (d disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return given(name)(d.FS.OpenReadWrite(name, category, o...))
}

// ReuseForWrite implements vfs.FS.
func (d disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return given(to)(d.FS.ReuseForWrite(from, to, category))
}

// given gives a file that was opened to the owner of its folder.
func given(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err == nil {
			fsutil.GiveToOwner(name)
		}
		return f, err
	}
}

// Lock implements vfs.FS. It makes a file that does not exist.
func (d disk) Lock(name string) (io.Closer, error) {
	lock, err := d.FS.Lock(name)
	if err == nil {
		fsutil.GiveToOwner(name)
	}
	return lock, err
}

// MkdirAll implements vfs.FS.
func (d disk) MkdirAll(dir string, perm os.FileMode) error {
	if _, err := d.Stat(dir); err == nil {
		return d.FS.MkdirAll(dir, perm)
	}
	if above := d.PathDir(dir); above != dir {
		if err := d.MkdirAll(above, perm); err != nil {
			return err
		}
	}
	if err := d.FS.MkdirAll(dir, perm); err != nil {
		return err
	}
	fsutil.GiveToOwner(dir)
	return nil
}
