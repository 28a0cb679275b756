package pebble

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// smallDisk is a file system whose free space the test sets.
type smallDisk struct {
	vfs.FS
	free  atomic.Uint64
	looks atomic.Int64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.looks.Add(1)
	return vfs.DiskUsage{AvailBytes: d.free.Load()}, nil
}

const testMinFree = 1 << 20

// onSmallDisk opens a store that requires testMinFree, on a disk with twice that.
func onSmallDisk(t *testing.T) (*Engine, *smallDisk) {
	t.Helper()
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.free.Store(2 * testMinFree)
	o := Options{Path: "store", MinFreeBytes: testMinFree, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e, err := open(o, disk, func() int64 { return time.Now().UnixMilli() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return e, disk
}

// has sets the free space, and waits until the store knows it.
func (d *smallDisk) has(t *testing.T, e *Engine, quarters uint64) {
	t.Helper()
	d.free.Store(testMinFree / 4 * quarters)
	for deadline := time.Now().Add(10 * time.Second); e.space.look() != d.free.Load(); {
		if time.Now().After(deadline) {
			t.Fatal("the free space is not looked at again")
		}
		time.Sleep(lookEvery / 4) // polling
	}
}

// TestLittleSpace: with too little free space some operations are refused and others continue; with
// enough space again all continue.
func TestLittleSpace(t *testing.T) {
	e, disk := onSmallDisk(t)
	counter := kv.Column{Table: "t", Family: "f", Row: []byte("n"), Qualifier: []byte("q")}
	column := kv.Column{Table: "t", Family: "f", Row: []byte("m"), Qualifier: []byte("q")}
	calls := map[string]func() error{
		"Apply":           func() error { return e.Apply(t.Context(), "t", "f", rows("a")) },
		"ApplyUnlogged":   func() error { return e.ApplyUnlogged(t.Context(), "t", "f", rows("b")) },
		"Increment":       func() error { _, err := e.Increment(t.Context(), counter, 1); return err },
		"CheckAndPut":     func() error { _, err := e.CheckAndPut(t.Context(), column, []byte("x"), []byte("x")); return err },
		"CheckAndPut, no": func() error { _, err := e.CheckAndPut(t.Context(), counter, []byte("no"), []byte("x")); return err },
		"DiskSpace":       e.DiskSpace,
		"Flush":           func() error { return e.Flush(t.Context()) },
		"DeleteRange":     func() error { _, err := e.DeleteRange(t.Context(), "t", keys("x", "y")); return err },
		"Get":             func() error { _, err := e.Get(t.Context(), "t", "f", [][]byte{[]byte("a")}); return err },
	}
	apply(t, e, "f", append(rows("a", "b", "c"), kv.Mutation{Key: []byte("m"), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("x")}}}))
	for _, quarters := range []uint64{4, 3, 2, 1, 0, 3, 4} {
		disk.has(t, e, quarters)
		for name, call := range calls {
			limit := map[string]uint64{"Apply": 4, "Increment": 4, "CheckAndPut": 4, "DiskSpace": 4, "ApplyUnlogged": 3}[name]
			if err := call(); errors.Is(err, storage.ErrFull) != (quarters < limit) || err != nil && quarters >= limit {
				t.Errorf("%d quarters free: %s: %v", quarters, name, err)
			}
		}
		if n := len(scanned(t, e, kv.Scan{})); n < 3 {
			t.Errorf("%d quarters free: %d rows are read", quarters, n)
		}
	}
	if e.space.refused.Load() == 0 {
		t.Error("no refusal was counted")
	}
}

// TestCompactionWaits: below half of the required free space, compactions wait for more; below a
// quarter, flushes wait too; closing waits for neither.
func TestCompactionWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		below uint64
		work  func(e *Engine) error
	}{
		{"compaction", quartersCompact, func(e *Engine) error { return e.db().Compact(t.Context(), []byte{1}, []byte{0xff}, false) }},
		{"flush", quartersFlush, func(e *Engine) error { return e.db().Flush() }},
	} {
		for _, end := range []string{"room", "close"} {
			t.Run(c.name+"/"+end, func(t *testing.T) {
				e, disk := onSmallDisk(t)
				for n := range 3 { // files below it, of the same rows
					apply(t, e, "f", rows("a", fmt.Sprint(n), "z"))
					e.mustFlush(t)
				}
				apply(t, e, "f", rows("a", "b", "z"))
				disk.has(t, e, c.below-1)
				if c.name == "compaction" {
					e.mustFlush(t)
				}
				done := make(chan error, 1)
				go func() { done <- c.work(e) }()
				looks := disk.looks.Load()
				for disk.looks.Load() < looks+2 { // it waits, and checks now and then
					select {
					case err := <-done:
						t.Fatalf("it did not wait: %v", err)
					case <-time.After(waitEvery / 10): // polling
					}
				}
				if end == "room" {
					disk.free.Store(2 * testMinFree)
					if err := <-done; err != nil {
						t.Error(err)
					}
					wantLines(t, scanned(t, e, kv.Scan{}), "0: q=of 0", "1: q=of 1", "2: q=of 2", "a: q=of a", "b: q=of b", "z: q=of z")
					return
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
				again, err := open(Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}, disk, func() int64 { return 1 })
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				wantLines(t, scanned(t, again, kv.Scan{}), "0: q=of 0", "1: q=of 1", "2: q=of 2", "a: q=of a", "b: q=of b", "z: q=of z")
			})
		}
	}
}

// TestOpenWithLittleSpace: a store on a disk that is nearly full opens and can be read.
func TestOpenWithLittleSpace(t *testing.T) {
	e, disk := onSmallDisk(t)
	apply(t, e, "f", rows("a"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(0)
	again, err := open(Options{Path: "store", MinFreeBytes: testMinFree, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}, disk, func() int64 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wantLines(t, scanned(t, again, kv.Scan{}), "a: q=of a")
	if err := again.Apply(t.Context(), "t", "f", rows("b")); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Apply: %v, want %v", err, storage.ErrFull)
	}
}
