package pebble

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// waiting is a DB with compactions that wait.
type waiting struct {
	mu      sync.Mutex // guards all below
	allowed int
	left    int
	running []pebble.CompactionGrantHandle
}

func (w *waiting) GetAllowedWithoutPermission() int { return w.allowed }

func (w *waiting) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left > 0, pebble.WaitingCompaction{}
}

func (w *waiting) Schedule(h pebble.CompactionGrantHandle) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return false
	}
	w.left--
	w.running = append(w.running, h)
	return true
}

func (w *waiting) check(t *testing.T, running, left int) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) != running || w.left != left {
		t.Errorf("%d compactions run and %d wait, want %d and %d", len(w.running), w.left, running, left)
	}
}

// After a start compactions wait for startQuiet; then as many run as are allowed, and each that
// ends lets the next one begin. None begins after hold, and none after Unregister.
func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := &waiting{allowed: 2, left: 5}, newScheduler(true)
		s.Register(2, w)
		if ok, _ := s.TrySchedule(); ok {
			t.Error("a compaction begins right after the start")
		}
		time.Sleep(startQuiet - time.Millisecond)
		w.check(t, 0, 5)
		time.Sleep(time.Millisecond)
		w.check(t, 2, 3)
		if ok, _ := s.TrySchedule(); ok {
			t.Error("more compactions begin than are allowed")
		}
		w.running[0].Done()
		w.check(t, 3, 2)
		s.hold()
		w.running[1].Done()
		time.Sleep(time.Minute)
		w.check(t, 3, 2)
		s.release()
		w.check(t, 4, 1)
		s.Unregister()
		w.running[2].Done()
		time.Sleep(time.Minute)
		w.check(t, 4, 1)
	})
}

// In a new store compactions begin at once, by either way.
func TestSchedulerOfNewStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := &waiting{allowed: 2, left: 1}, newScheduler(false)
		s.Register(2, w)
		defer s.Unregister()
		ok, handle := s.TrySchedule()
		if !ok {
			t.Fatal("no compaction begins")
		}
		handle.Done()
		w.check(t, 1, 0)
	})
}

// A store that was opened with data is compacted on demand at once.
func TestCompactAfterStart(t *testing.T) {
	o := Options{Path: t.TempDir(), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e := opened(t, o)
	apply(t, e, "f", rows("a", "b"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = opened(t, o)
	apply(t, e, "f", rows("b", "c"))
	begin := time.Now()
	if err := e.Compact(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > startQuiet-time.Second {
		t.Errorf("a compaction on demand took %v", took)
	}
}
