package write_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// steppedTables are tables that a test ends at a step, and that lose with the power what they noted
// and did not sync.
type steppedTables struct {
	*kv.Mem
	step   func() error
	synced kv.LogEnd
}

func (s *steppedTables) NoteLog(end kv.LogEnd, durable bool) error {
	if err := s.step(); err != nil {
		return err
	}
	if durable {
		s.synced = end
	}
	return s.Mem.NoteLog(end, durable)
}

func (s *steppedTables) RecordLog(state kv.LogState) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Mem.RecordLog(state)
}

// aLife is what processes do until one of them dies.
type aLife struct {
	t     *testing.T
	db    *steppedTables
	disk  *logtest.Disk
	acked map[int]bool
	gone  int // batches before it are deleted, or may be

	beforeEnd func() // nil: nothing is to be done
}

func smallFiles(o *store.Options) {
	o.Exclusive, o.Mode = true, write.Buffered
	o.Buffer.Dir, o.Buffer.CheckInterval, o.Buffer.SegmentBytes, o.Buffer.FlushDelay = "log", time.Millisecond, 1<<10, 0
}

// process runs one process, which ends in order if it lives.
func (l *aLife) process(from, to int, deletes bool) (alive bool) {
	o := store.DefaultOptions()
	smallFiles(&o)
	o.Buffer.FS = l.disk
	s, err := store.New(l.db, o)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ended := func() bool {
		cancel()
		<-done
		return s.Close(l.t.Context()) == nil
	}
	for s.Ready(ctx) != nil {
		select {
		case <-done:
			done <- nil
			ended()
			return false
		case <-time.After(time.Millisecond): // polling; a process that dies ends Run
		}
	}
	refs, errs := s.Resolve(ctx, twoSeries)
	if errs != nil {
		ended()
		return false
	}
	for n := from; n < to; n++ {
		l.acked[n] = s.Append(ctx, numbered(n, refs)) == nil
		if deletes && n == (from+to)/2 {
			l.gone = n + 1
			_, _ = s.Delete(ctx, storage.Deletion{Refs: refs, End: storage.MaxTime})
		}
	}
	if l.beforeEnd != nil {
		l.beforeEnd()
	}
	return ended()
}

// TestNoStepRefusesAStart ends a process at each step by which tables and log record each other, or
// at each write, sync or removal of a file of the log, by a kill or with the power. What is left is
// always a store, and has what was acknowledged.
func TestNoStepRefusesAStart(t *testing.T) {
	dead := errors.New("the process is dead")
	for nth, more := 1, true; more; nth++ {
		if testing.Short() && nth%7 != 1 {
			continue
		}
		for _, power := range []bool{false, true} {
			t.Run(fmt.Sprint(nth, power), func(t *testing.T) {
				steps := 0
				var died bool
				turn := make(chan struct{}, 1) // guards the two above
				step := func() error {
					turn <- struct{}{}
					defer func() { <-turn }()
					if steps++; steps >= nth {
						died = true
						return dead
					}
					return nil
				}
				l := &aLife{t: t, disk: logtest.New(uint64(nth)), acked: map[int]bool{}}
				l.db = &steppedTables{Mem: kv.NewMem(storetest.Tables()...), step: step}
				l.disk.SetBefore(func(logtest.Op, string) error { return step() })
				_ = l.process(0, 10, true) && l.process(10, 16, false) && l.process(16, 20, true)
				more = died
				l.db.step = func() error { return nil }
				if power {
					l.disk = l.disk.Crash(uint64(nth))
					_ = l.db.Mem.NoteLog(l.db.synced, true)
				} else {
					l.disk = l.disk.Kill(uint64(nth))
				}
				s := storetest.StartBuffered(t, l.db, l.disk, smallFiles)
				for n, there := range found(t, s.Store, storetest.Resolve(t, s.Store, twoSeries...), 20) {
					if l.acked[n] && !there && n >= l.gone {
						t.Errorf("batch %d was acknowledged and is lost", n)
					}
				}
				s.End()
				if again := storetest.StartBuffered(t, l.db, l.disk, smallFiles); again.Ready(t.Context()) != nil {
					t.Error("the next start is not ready")
				}
			})
		}
	}
}

// TestKilledEndOnReadOnlyDisk kills a process at each step of its clean end and starts on a disk that takes no writes: what
// is left of a log that the tables have is passed over, everything is read, and when the disk takes writes the store does.
func TestKilledEndOnReadOnlyDisk(t *testing.T) {
	dead := errors.New("the process is dead")
	readOnly := func(op logtest.Op, _ string) error {
		if op == logtest.OpOpen {
			return nil
		}
		return syscall.EROFS
	}
	for nth, more := 1, true; more; nth++ {
		l := &aLife{t: t, disk: logtest.New(uint64(nth)), acked: map[int]bool{}}
		var died atomic.Bool
		left := atomic.Int64{}
		left.Store(int64(nth))
		ending := atomic.Bool{}
		step := func() error {
			if !ending.Load() {
				return nil
			}
			if left.Add(-1) <= 0 {
				died.Store(true)
				return dead
			}
			return nil
		}
		l.db = &steppedTables{Mem: kv.NewMem(storetest.Tables()...), step: step}
		l.disk.SetBefore(func(logtest.Op, string) error { return step() })
		l.beforeEnd = func() { ending.Store(true) }
		_ = l.process(0, 10, false)
		more = died.Load()
		l.db.step = func() error { return storage.ErrFull }
		l.disk = l.disk.Kill(uint64(nth))
		l.disk.SetBefore(readOnly)
		s := storetest.StartBuffered(t, l.db, l.disk, smallFiles)
		refs := storetest.Resolve(t, s.Store, twoSeries...)
		for n, there := range found(t, s.Store, refs, 10) {
			if l.acked[n] && !there {
				t.Errorf("step %d: batch %d was acknowledged and is lost", nth, n)
			}
		}
		l.db.step = func() error { return nil }
		l.disk.SetBefore(func(logtest.Op, string) error { return nil })
		for deadline := time.Now().Add(time.Minute); s.Append(t.Context(), numbered(11, refs)) != nil; time.Sleep(time.Millisecond) { // polling, with a deadline
			if time.Now().After(deadline) {
				t.Fatalf("step %d: the store takes no writes again: %v", nth, s.Append(t.Context(), numbered(11, refs)))
			}
		}
		s.End()
		again := storetest.StartBuffered(t, l.db, l.disk, smallFiles)
		if there := found(t, again.Store, storetest.Resolve(t, again.Store, twoSeries...), 12); !there[11] {
			t.Errorf("step %d: what came later is lost", nth)
		}
		again.End()
	}
}
