package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// bufferedProcess is a store that writes through log and head, as a process has it.
type bufferedProcess struct {
	*storage.Store
	stop func() // ends Run, and nothing else
}

func startBuffered(t *testing.T, db kv.KV, disk log.FS, change ...func(*storage.Options)) *bufferedProcess {
	t.Helper()
	o := storage.DefaultOptions()
	o.Exclusive, o.Mode = true, storage.WriteBuffered
	o.Buffer.Dir, o.Buffer.FS, o.Buffer.CheckInterval, o.Buffer.SegmentBytes = "log", disk, time.Millisecond, 16<<10
	for _, c := range change {
		c(&o)
	}
	s, err := storage.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	p := &bufferedProcess{Store: s, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}}
	t.Cleanup(p.stop)
	for s.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal(s.Ready(t.Context()))
		}
	}
	return p
}

// TestBufferedAgainstModel writes at random, in any order of time, while rows are flushed, through ends of the process in order and not, and reads
// what a plain list says.
func TestBufferedAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			againstModel(t, seed, func(*rand.Rand, *storage.Options) {}, func(_ *rand.Rand, s *storage.Store) storage.Appender { return s })
		})
	}
}

// TestLoggedAgainstModel does so with writes that go through beside others that take the log. Now and then the flags of a start know of no log,
// which is there all the same.
func TestLoggedAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			flags := func(r *rand.Rand, o *storage.Options) {
				o.Mode, o.LogUnacknowledged = storage.WriteThrough, r.IntN(4) > 0
				o.Exclusive = seed%2 == 0
			}
			againstModel(t, seed, flags, func(r *rand.Rand, s *storage.Store) storage.Appender {
				if r.IntN(2) == 0 {
					return s.Logged()
				}
				return s
			})
		})
	}
}

func againstModel(t *testing.T, seed uint64, flags func(*rand.Rand, *storage.Options), way func(*rand.Rand, *storage.Store) storage.Appender) {
	r := rand.New(rand.NewPCG(seed, 7))
	db, disk := kv.NewMem(tables()...), logtest.New(seed)
	list := []storage.Series{series("m", "host", "a"), series("m", "host", "b"), series("m", "host", "a", "z", "1")}
	change := func(o *storage.Options) {
		o.Values = schema.Values(seed % 3)
		// Now and then at once, mostly never: what is left to be flushed is of 2013.
		o.Buffer.FlushDelay = []time.Duration{0, 1 << 60, 1 << 60}[r.IntN(3)]
		o.Buffer.FlushInterval = 1 << 60
		flags(r, o)
	}
	s := startBuffered(t, db, disk, change)
	refs := resolve(t, s.Store, list...)
	m := newModel(len(refs))
	span := []int64{20, 8000, 30000}[seed%3]
	for range 60 {
		var b storage.Batch
		for range 1 + r.IntN(12) {
			m.addRandom(r, &b, refs, span)
		}
		if err := way(r, s.Store).Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		switch r.IntN(12) {
		case 0: // a kill
			s.stop()
			disk = disk.Kill(r.Uint64())
		case 1: // the end in order
			s.stop()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 2:
			m.check(t, s.Store, refs, 1356998400000+100, 1356998400000+3600_000)
			continue
		default:
			continue
		}
		s = startBuffered(t, db, disk, change)
		refs = resolve(t, s.Store, list...)
	}
	m.check(t, s.Store, refs, 0, storage.MaxTime)
	m.check(t, s.Store, refs, 1356998400000+100, 1356998400000+3600_000)
	s.stop()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Everything is in the table now, as a store without a log sees it.
	through := openStore(t, db)
	m.check(t, through, resolve(t, through, list...), 0, storage.MaxTime)
	checkRows(t, db)
}

// TestBufferedDiskFull refuses what does not fit, and goes on when there is room.
func TestBufferedDiskFull(t *testing.T) {
	db, disk := kv.NewMem(tables()...), logtest.New(1)
	s := startBuffered(t, db, disk)
	refs := resolve(t, s.Store, series("m", "host", "a"))
	m := newModel(1)
	write := func(n int64) error {
		var b storage.Batch
		b.Add(refs[0], 1356998400000+n*1000, float64(n))
		err := s.Append(t.Context(), &b)
		if err == nil {
			m.put(0, 1356998400000+n*1000, sample{bits: math.Float64bits(float64(n))})
		}
		return err
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk on fire")
	disk.Before = func(op logtest.Op, _ string) error {
		if op == logtest.OpSyncData {
			return full
		}
		return nil
	}
	if err := write(2); !errors.Is(err, full) {
		t.Fatalf("append on a disk that fails = %v", err)
	}
	disk.Before = nil
	if err := write(3); err != nil {
		t.Fatal(err)
	}
	s.stop()
	disk = disk.Kill(3)
	s = startBuffered(t, db, disk)
	refs = resolve(t, s.Store, series("m", "host", "a"))
	m.check(t, s.Store, refs, 1356998400000+3000, storage.MaxTime)
	m.check(t, s.Store, refs, 0, 1356998400000+1000)
}

func TestBufferedNewSeriesInLog(t *testing.T) {
	// Series that were numbered before a crash, and others after it, keep their points apart.
	db, disk := kv.NewMem(tables()...), logtest.New(5)
	var list []storage.Series
	m := newModel(30)
	for round := range 3 {
		s := startBuffered(t, db, disk)
		for n := range 10 {
			list = append(list, series("m", "host", fmt.Sprint(round, "-", n)))
		}
		refs := resolve(t, s.Store, list...)
		var b storage.Batch
		for n, ref := range refs {
			at := 1356998400000 + int64(round)*1000
			b.Add(ref, at, float64(n+round*100))
			m.put(n, at, sample{bits: math.Float64bits(float64(n + round*100))})
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		s.stop()
		disk = disk.Kill(uint64(round))
	}
	s := startBuffered(t, db, disk)
	m.check(t, s.Store, resolve(t, s.Store, list...), 0, storage.MaxTime)
}
