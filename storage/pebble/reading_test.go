package pebble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// barredDisk is a file system that can be made to take no writes at all: nothing can be created,
// changed, renamed, removed or locked.
type barredDisk struct {
	vfs.FS
	bar     atomic.Pointer[error] // nil: it takes writes
	changes atomic.Int64          // that were let through
}

func (d *barredDisk) set(err error) {
	if d.bar.Store(nil); err != nil {
		d.bar.Store(&err)
	}
}

func (d *barredDisk) check() error {
	if err := d.bar.Load(); err != nil {
		return *err
	}
	d.changes.Add(1)
	return nil
}

func barred[T any](d *barredDisk, do func() (T, error)) (T, error) {
	if err := d.check(); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (d *barredDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return barred(d, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

func (d *barredDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return barred(d, func() (vfs.File, error) { return d.FS.ReuseForWrite(from, to, c) })
}

func (d *barredDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return barred(d, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, opts...) })
}

func (d *barredDisk) Remove(name string) error {
	return errors.Join(d.check(), func() error {
		if d.bar.Load() != nil {
			return nil
		}
		return d.FS.Remove(name)
	}())
}

// TestOpenToRead opens stores on disks that take no writes, after a clean end and after a kill.
// Everything is read, including what is only in Pebble's log; nothing is changed on the disk;
// writes are refused with the reason. When the disk takes writes again the store does so by itself,
// and a scan that began before continues.
func TestOpenToRead(t *testing.T) {
	for word, bar := range map[string]error{"is full": syscall.ENOSPC, "mounted read-only": syscall.EROFS, "quota": syscall.EDQUOT} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %t", word, killed), func(t *testing.T) {
				mem := vfs.NewCrashableMem()
				disk := &barredDisk{FS: mem}
				o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
				e := openedOn(t, o, disk)
				for n := range 3 {
					apply(t, e, "f", rows("a", fmt.Sprint(n)))
					e.mustFlush(t)
				}
				apply(t, e, "f", rows("b", "c"))
				want := scanned(t, e, kv.Scan{})
				if killed {
					disk = &barredDisk{FS: mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})}
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				disk.set(bar)
				changes := disk.changes.Load()
				o.Tables = append(o.Tables, kv.Table{Name: "new", Families: []string{"f"}})
				e = openedOn(t, o, disk)
				wantLines(t, scanned(t, e, kv.Scan{}), want...)
				wantRefused(t, e, word)
				if now := disk.changes.Load(); now != changes {
					t.Errorf("%d changes of files", now-changes)
				}
				mend(t, e, func() { disk.set(nil) })
				if e.readers.db != nil {
					t.Error("the store that was only read is not closed")
				}
				want = append(want, "d: q=of d")
				wantLines(t, scanned(t, e, kv.Scan{}), want...)
				e.mustCompact(t)
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
}

// wantRefused checks that everything that writes is refused with a reason.
func wantRefused(t *testing.T, e *Engine, word string) {
	t.Helper()
	column := kv.Column{Table: "t", Family: "f", Row: []byte("n"), Qualifier: []byte("q")}
	for name, call := range map[string]func() error{
		"Apply":         func() error { return e.Apply(t.Context(), "t", "f", rows("x")) },
		"ApplyUnlogged": func() error { return e.ApplyUnlogged(t.Context(), "t", "f", rows("x")) },
		"Increment":     func() error { _, err := e.Increment(t.Context(), column, 1); return err },
		"CheckAndPut":   func() error { _, err := e.CheckAndPut(t.Context(), column, nil, []byte("x")); return err },
		"DeleteRange":   func() error { _, err := e.DeleteRange(t.Context(), "t", keys("a", "z")); return err },
		"Flush":         func() error { return e.Flush(t.Context()) },
		"Compact":       func() error { return e.Compact(t.Context(), "t") },
		"Checkpoint":    func() error { return e.Checkpoint(t.Context(), "backup") },
		"DiskSpace":     e.DiskSpace,
	} {
		if err := call(); !errors.Is(err, storage.ErrFull) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want %v with %q", name, err, storage.ErrFull, word)
		}
	}
}

// mend makes a disk take writes during a scan, and waits until a row can be written.
func mend(t *testing.T, e *Engine, do func()) {
	t.Helper()
	first := true
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	for range 3 {
		others.Go(func() { readOn(t, e, stop) })
	}
	for _, err := range e.Scan(t.Context(), kv.Scan{Table: "t", Family: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		if !first {
			continue
		}
		first = false
		do()
		// polling, with a deadline
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(tryEvery / 50) {
			err := e.Apply(t.Context(), "t", "f", rows("d"))
			if err == nil {
				break
			}
			if !errors.Is(err, storage.ErrFull) || time.Now().After(deadline) {
				t.Fatalf("Apply when the disk takes writes again: %v", err)
			}
		}
		e.mustCompact(t) // removes tables that the scan reads
	}
	if first {
		t.Fatal("nothing is read")
	}
}

// readOn reads existing rows until it is stopped.
func readOn(t *testing.T, e *Engine, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		rows, err := e.Get(t.Context(), "t", "f", [][]byte{[]byte("a"), []byte("c")})
		if err != nil || len(rows[0].Cells) != 1 || len(rows[1].Cells) != 1 {
			t.Errorf("Get meanwhile: %v, %v", rows, err)
			return
		}
	}
}

// TestBeginOnFullDisk: without a store and without space for one, the store is empty, and it is
// created when there is space.
func TestBeginOnFullDisk(t *testing.T) {
	disk := &barredDisk{FS: vfs.NewMem()}
	disk.set(syscall.ENOSPC)
	o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e := openedOn(t, o, disk)
	wantLines(t, scanned(t, e, kv.Scan{}))
	wantRefused(t, e, "is full")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openedOn(t, o, disk)
	disk.set(nil)
	// polling, with a deadline
	for deadline := time.Now().Add(time.Minute); e.Apply(t.Context(), "t", "f", rows("d")) != nil; time.Sleep(tryEvery / 50) {
		if time.Now().After(deadline) {
			t.Fatal("no writes are taken")
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openedOn(t, o, disk)
	wantLines(t, scanned(t, e, kv.Scan{}), "d: q=of d")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSpaceToOpen: a start needs space for what it writes, in bytes and in files; with less the
// store is only read.
func TestSpaceToOpen(t *testing.T) {
	e, disk := onSmallDisk(t)
	apply(t, e, "f", rows("a"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	for free, written := range map[uint64]bool{0: false, openBytes: false, 2 * openBytes: true} {
		disk.free.Store(free)
		e := openedOn(t, o, disk)
		wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a")
		if err := e.Apply(t.Context(), "t", "f", rows("a")); (err == nil) != written {
			t.Errorf("Apply with %d bytes free: %v", free, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
