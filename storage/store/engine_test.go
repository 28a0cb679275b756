package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// memory is an engine that survives every end of the process.
type memory struct{ *kv.Mem }

func (m memory) Open(*testing.T, storetest.End) kv.KV { return m.Mem }

func newMemory(*testing.T) storetest.Engine { return memory{kv.NewMem(storetest.Tables()...)} }

func TestStoreInMemory(t *testing.T) {
	storetest.Run(t, storetest.Config{New: newMemory, Seeds: scale.Of[uint64](t, "random histories, one writer", 40, 40, 800), Exclusive: true})
}

func TestMistakenCells(t *testing.T) {
	storetest.RunMistaken(t, storetest.Config{New: newMemory, Exclusive: true})
	storetest.RunMistaken(t, storetest.Config{New: newMemory, Salted: true})
	storetest.RunMistaken(t, storetest.Config{New: func(*testing.T) storetest.Engine { return sharedTable{kv.NewShared(storetest.Tables()...)} }})
}

func TestStoreWithOtherWriters(t *testing.T) {
	storetest.Run(t, storetest.Config{New: newMemory, Seeds: scale.Of[uint64](t, "random histories, salted", 20, 20, 400), Salted: true})
}

// sharedTable is an engine with the stamps and versions of HBase.
type sharedTable struct{ *kv.Shared }

func (m sharedTable) Open(*testing.T, storetest.End) kv.KV { return m.Shared }

// Stamps are milliseconds, and tests write the same instant more often than that: their clock
// advances at each reading.
func TestStoreOnSharedTables(t *testing.T) {
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	storetest.Run(t, storetest.Config{
		New: func(*testing.T) storetest.Engine {
			db := kv.NewShared(storetest.Tables()...)
			db.SetClock(func() int64 { return clock.Add(1) })
			return sharedTable{db}
		},
		Seeds: scale.Of[uint64](t, "random histories, shared tables", 40, 40, 800), Clock: func() time.Time { return time.UnixMilli(clock.Add(1)) },
	})
}

func TestSpans(t *testing.T) {
	storetest.RunSpans(t, storetest.Config{New: newMemory, Seeds: scale.Of[uint64](t, "random histories of days", 40, 40, 800), Exclusive: true})
}

func TestAnnotations(t *testing.T) {
	seeds := scale.Of[uint64](t, "random histories of annotations", 20, 20, 400)
	storetest.RunAnnotations(t, storetest.Config{New: newMemory, Seeds: seeds, Exclusive: true})
	storetest.RunAnnotations(t, storetest.Config{New: newMemory, Seeds: seeds, Exclusive: true, Salted: true})
	storetest.RunAnnotations(t, newSharedConfig(seeds))
}

func TestHistograms(t *testing.T) {
	seeds := scale.Of[uint64](t, "random histories of histograms", 20, 20, 400)
	storetest.RunHistograms(t, storetest.Config{New: newMemory, Seeds: seeds, Exclusive: true})
	storetest.RunHistograms(t, storetest.Config{New: newMemory, Seeds: seeds, Exclusive: true, Salted: true})
	storetest.RunHistograms(t, newSharedConfig(seeds))
}

// newSharedConfig returns shared tables with a salt.
func newSharedConfig(seeds uint64) storetest.Config {
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	return newSharedConfigAt(seeds, &clock)
}

// newSharedConfigAt is newSharedConfig with a clock of milliseconds.
func newSharedConfigAt(seeds uint64, clock *atomic.Int64) storetest.Config {
	return storetest.Config{
		New: func(*testing.T) storetest.Engine {
			db := kv.NewShared(storetest.Tables()...)
			db.SetClock(func() int64 { return clock.Add(1) })
			return sharedTable{db}
		},
		Seeds: seeds, Salted: true, Clock: func() time.Time { return time.UnixMilli(clock.Add(1)) },
	}
}

func TestDeleteEmpty(t *testing.T) {
	seeds := scale.Of[uint64](t, "random histories of deletions of empty series", 12, 12, 400)
	storetest.RunEmpty(t, storetest.Config{New: newMemory, Seeds: seeds, Exclusive: true})
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	shared := newSharedConfigAt(seeds, &clock)
	shared.Follow = func(ctx context.Context, s *store.Store) error {
		clock.Add(3 * 60_000) // leases of processes that were killed end
		if s.Buffered() {
			if err := s.FlushAll(ctx); err != nil {
				return err
			}
		}
		return errors.Join(s.VerifyAll(ctx), s.FollowDeletions(ctx))
	}
	storetest.RunEmpty(t, shared)
}
