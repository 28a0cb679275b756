package pebble

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage"
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

// After compactions that fail the next one begins later and later, and after a success at once again.
func TestSchedulerRestsAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := &waiting{allowed: 1, left: 1000}, newScheduler(false)
		s.Register(1, w)
		defer s.Unregister()
		begin := time.Now()
		for n := range 10 {
			time.Sleep(grantInterval) // the first one needs a look
			for {
				synctest.Wait()
				w.mu.Lock()
				begun := len(w.running) > n
				w.mu.Unlock()
				if begun {
					break
				}
				time.Sleep(grantInterval)
			}
			s.compacted(storage.ErrDamaged)
			w.running[n].Done()
		}
		if took := time.Since(begin); took < time.Minute || took > 4*time.Minute {
			t.Errorf("10 compactions that fail took %v", took)
		}
		time.Sleep(2 * longestPause)
		w.check(t, 11, 1000-11)
		s.compacted(nil)
		w.running[10].Done()
		w.check(t, 12, 1000-12)
		s.compacted(pebble.ErrCancelledCompaction)
		w.running[11].Done()
		w.check(t, 13, 1000-13)
	})
}

// failures tells when compactions fail, by the log.
type failures struct {
	slog.Handler
	at chan time.Time
}

func (f failures) Handle(_ context.Context, r slog.Record) error {
	counts := strings.Contains(r.Message, "background work failed")
	r.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), "could not open table") { // of statistics, not of a compaction
			counts = false
		}
		return true
	})
	if counts {
		select {
		case f.at <- time.Now():
		default:
		}
	}
	return nil
}

func (f failures) Enabled(context.Context, slog.Level) bool { return true }

// A store whose folder was deleted tries its compactions again, and rests in between.
func TestDeletedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	failed := failures{slog.DiscardHandler, make(chan time.Time, 100)}
	e := opened(t, Options{Path: dir, Logger: slog.New(failed), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
	e.begins.Load().hold()
	for range 8 {
		apply(t, e, "f", rows("a", "b"))
		if err := e.db().Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	e.begins.Load().release()
	var first, last time.Time
	for n := range 4 {
		select {
		case last = <-failed.at:
		case <-time.After(time.Minute):
			t.Fatalf("%d compactions failed, and no further one", n)
		}
		if n == 0 {
			first = last
		}
	}
	if took := last.Sub(first); took < 7*firstPause-100*time.Millisecond { // one, two and four
		t.Errorf("4 compactions failed within %v", took)
	}
}
