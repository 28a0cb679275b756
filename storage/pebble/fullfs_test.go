package pebble

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// fullDisk is a file system on which nothing can be created or written while it is full.
type fullDisk struct {
	vfs.FS
	full  atomic.Bool
	left  atomic.Int64 // uses that still succeed on the full disk
	tries atomic.Int64
}

func (d *fullDisk) check() error {
	if d.full.Load() && d.left.Add(-1) < 0 {
		d.tries.Add(1)
		return syscall.ENOSPC
	}
	return nil
}

func (d *fullDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	f, err := d.FS.Create(name, c)
	return &fullFile{f, d}, err
}

func (d *fullDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	f, err := d.FS.ReuseForWrite(from, to, c)
	return &fullFile{f, d}, err
}

type fullFile struct {
	vfs.File
	disk *fullDisk
}

// Write writes half of what it is given on a full disk.
func (f *fullFile) Write(p []byte) (int, error) {
	if err := f.disk.check(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

// Link and MkdirAll need inodes.
func (d *fullDisk) Link(from, to string) error { return errors.Join(d.check(), d.FS.Link(from, to)) }

func (d *fullDisk) MkdirAll(dir string, perm os.FileMode) error {
	if err := d.check(); err != nil {
		return err
	}
	return d.FS.MkdirAll(dir, perm)
}

// Copies and compactions that callers wait for end with an error on a full disk, and a copy leaves nothing behind. The next
// ones succeed.
func TestFullDiskCopy(t *testing.T) {
	disk := &fullDisk{FS: vfs.NewMem()}
	e := openedOn(t, Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}, disk)
	apply(t, e, "f", rows("a"))
	e.mustFlush(t)
	for full := range 5 { // after so many uses of the disk
		disk.left.Store(int64(full))
		disk.full.Store(true)
		if err := e.Checkpoint(t.Context(), "copy"); !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, storage.ErrFull) {
			t.Errorf("a copy to a disk that is full after %d: %v", full, err)
		}
		disk.full.Store(false)
		if names, err := disk.List(""); err != nil || slices.Contains(names, "copy") || slices.Contains(names, "copy"+partialSuffix) {
			t.Errorf("left behind: %v, %v", names, err)
		}
	}
	eventually(t, func() error { return e.Checkpoint(t.Context(), "copy") })
	eventually(t, func() error { return e.Apply(t.Context(), "t", "f", rows("b")) })
	disk.full.Store(true)
	disk.left.Store(0)
	if err := e.Compact(t.Context(), "t"); !errors.Is(err, storage.ErrFull) {
		t.Errorf("a compaction on a full disk: %v", err)
	}
	disk.full.Store(false)
	eventually(t, func() error { return e.Compact(t.Context(), "t") })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// eventually tries until a disk that was full is noticed to have space: others may still wait.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // polling, with a deadline
		err := try()
		if err == nil {
			return
		}
		if !errors.Is(err, storage.ErrFull) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestFullDisk: writes, flushes and compactions that run into a full disk wait, later ones are
// refused, and reads are answered. When there is space again all continue by themselves, and
// everything acknowledged is there, in this process and in the next.
func TestFullDisk(t *testing.T) {
	for name, work := range map[string]func(e *Engine) error{
		"write":      func(e *Engine) error { return e.Apply(t.Context(), "t", "f", rows("x")) },
		"flush":      func(e *Engine) error { return e.db().Flush() },
		"compaction": func(e *Engine) error { return e.db().Compact(t.Context(), []byte{0}, []byte{255}, false) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := &fullDisk{FS: vfs.NewMem()}
			o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
			e := openedOn(t, o, disk)
			for n := range 3 {
				apply(t, e, "f", rows("a", fmt.Sprint(n)))
				e.mustFlush(t)
			}
			// or a running compaction meets the full disk first, and the write is refused
			if name == "write" {
				e.mustCompact(t)
			}
			apply(t, e, "f", rows("b"))
			disk.full.Store(true)
			done := make(chan error, 1)
			go func() { done <- work(e) }()
			// polling, with a deadline
			for deadline := time.Now().Add(time.Minute); disk.tries.Load() < 2; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no write waits for disk space")
				}
			}
			if err := e.Apply(t.Context(), "t", "f", rows("c")); !errors.Is(err, storage.ErrFull) {
				t.Errorf("Apply on a full disk: %v, want %v", err, storage.ErrFull)
			}
			if got := len(scanned(t, e, kv.Scan{})); got < 5 {
				t.Errorf("%d rows are read from a full disk", got)
			}
			disk.full.Store(false)
			if err := <-done; err != nil {
				t.Errorf("when there is room again: %v", err)
			}
			// polling, with a deadline: other operations of the engine may still wait
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				err := e.Apply(t.Context(), "t", "f", rows("d"))
				if err == nil {
					break
				}
				if !errors.Is(err, storage.ErrFull) || time.Now().After(deadline) {
					t.Fatalf("Apply when there is room again: %v", err)
				}
			}
			want := scanned(t, e, kv.Scan{})
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = openedOn(t, o, disk)
			wantLines(t, scanned(t, e, kv.Scan{}), want...)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
