package pebble

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// storeFolder is a store's folder on a file system that remembers what was synced.
type storeFolder struct {
	files  *vfs.MemFS
	engine *Engine
	rng    *rand.Rand
	wall   *atomic.Int64
}

// Open implements storetest.Engine.
func (f *storeFolder) Open(t *testing.T, before storetest.End) kv.KV {
	t.Helper()
	if f.engine != nil {
		switch kept := 100; before { // percentage of unsynced data that reached the disk
		case storetest.PowerFailed:
			kept = f.rng.IntN(101)
			fallthrough
		case storetest.Killed:
			after := f.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: f.rng})
			f.end(t)
			f.files = after
		default:
			f.end(t)
		}
	}
	var err error
	now := func() int64 { return f.wall.Add(1) }
	if f.engine, err = open(Options{Path: "store", Tables: storetest.Tables()}, f.files, now); err != nil {
		t.Fatal(err)
	}
	return f.engine
}

func (f *storeFolder) end(t *testing.T) {
	t.Helper()
	if err := f.engine.Close(); err != nil {
		t.Fatal(err)
	}
	f.engine = nil
}

// TestStore runs the suite of stores, with kills and power failures of its disk and its log's.
func TestStore(t *testing.T) {
	seeds := scale.Of[uint64](t, "random histories of a store", 8, 24, 300)
	storetest.Run(t, storetest.Config{Seeds: seeds, Exclusive: true, New: newFolder})
}

// TestMistakenCells: columns of cells that a TSD would misread are read and rewritten correctly.
func TestMistakenCells(t *testing.T) {
	storetest.RunMistaken(t, storetest.Config{Exclusive: true, New: newFolder})
}

func newFolder(t *testing.T) storetest.Engine {
	f := &storeFolder{files: vfs.NewCrashableMem(), rng: rand.New(rand.NewPCG(1, 2)), wall: &atomic.Int64{}}
	f.wall.Store(1_700_000_000_000)
	t.Cleanup(func() {
		if f.engine != nil {
			f.end(t)
		}
	})
	return f
}

// TestSpans runs the suite on active days, with kills and power failures.
func TestSpans(t *testing.T) {
	storetest.RunSpans(t, storetest.Config{Seeds: scale.Of[uint64](t, "random histories of days", 24, 24, 300), Exclusive: true, New: newFolder})
}

// TestAnnotations runs the suite on annotations, with kills and power failures.
func TestAnnotations(t *testing.T) {
	storetest.RunAnnotations(t, storetest.Config{Seeds: scale.Of[uint64](t, "random histories of annotations", 12, 24, 300), Exclusive: true, New: newFolder})
}

// TestHistograms runs the suite on OpenTSDB's histograms, with kills and power failures.
func TestHistograms(t *testing.T) {
	storetest.RunHistograms(t, storetest.Config{Seeds: scale.Of[uint64](t, "random histories of histograms", 12, 24, 300), Exclusive: true, New: newFolder})
}

// TestDeleteEmpty deletes series without points while others write to them.
func TestDeleteEmpty(t *testing.T) {
	seeds := scale.Of[uint64](t, "random histories of deletions of empty series", 4, 8, 200)
	storetest.RunEmpty(t, storetest.Config{Seeds: seeds, Exclusive: true, New: newFolder})
}
