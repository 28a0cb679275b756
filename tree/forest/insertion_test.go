package forest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// held makes the first Apply wait until it is released.
type held struct {
	kv.KV
	came    atomic.Bool
	release chan struct{}
}

func (h *held) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if !h.came.Swap(true) {
		<-h.release
	}
	return h.KV.Apply(ctx, table, family, rows)
}

// Two calls need a new branch at once: the second one's leaf waits for the first one's branch, and
// then nothing is asked of the table.
func TestObserveOfOneNewBranchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := kvtest.New(newTables(t))
		slow := &held{KV: counted, release: make(chan struct{})}
		f := newForest(t, slow, true)
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				if err := f.Observe(t.Context(), []NewSeries{numbered(i+1, fmt.Sprintf("a.b.c%d", i))}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(slow.release)
		group.Wait()
		if !f.complete {
			t.Error("the index is no longer known to be complete")
		}
		sameIndex(t, "afterwards", f, counted)
		asked := counted.Calls(kvtest.CheckAndPut)
		if err := f.Observe(t.Context(), []NewSeries{numbered(9, "a.b.d")}); err != nil {
			t.Fatal(err)
		}
		if n := counted.Calls(kvtest.CheckAndPut) - asked; n > 0 {
			t.Errorf("a new leaf takes %d check-and-puts", n)
		}
	})
}

// An index that lost something is read anew, and is complete again, while series keep coming.
func TestRunCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForest(t, newTables(t), true)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = f.Run(ctx, time.Minute, slog.New(slog.DiscardHandler)) })
		synctest.Wait()
		for i := range 3 {
			f.mu.Lock()
			f.complete = false
			f.mu.Unlock()
			if err := f.Observe(t.Context(), []NewSeries{numbered(i+1, fmt.Sprintf("a.b.c%d", i))}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			if f.incomplete() {
				t.Errorf("incomplete ten minutes after time %d", i+1)
			}
		}
		stop()
		group.Wait()
	})
}

// A process that has the tables alone but has not read them asks once for each row, not for each
// leaf.
func TestObserveWideRow(t *testing.T) {
	db := newTables(t)
	counted := kvtest.New(db)
	o := DefaultOptions()
	o.Exclusive = true
	for round := range 3 {
		f := New(counted, o)
		if err := f.LoadTrees(t.Context()); err != nil {
			t.Fatal(err)
		}
		var series []NewSeries
		for i := range 1000 {
			series = append(series, numbered(1+i+round*500, fmt.Sprintf("a.b.c%d", i+round*500)))
		}
		gets, puts, scans := counted.Calls(kvtest.Get), counted.Calls(kvtest.CheckAndPut), counted.Calls(kvtest.Scan)
		if err := f.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		gets, puts, scans = counted.Calls(kvtest.Get)-gets, counted.Calls(kvtest.CheckAndPut)-puts, counted.Calls(kvtest.Scan)-scans
		if gets > 1 || puts > 0 || scans > 3 {
			t.Errorf("round %d: %d reads of rows, %d check-and-puts, %d scans", round, gets, puts, scans)
		}
	}
	if n := newForest(t, db, false).Index().Leaves(); n != 2000 {
		t.Errorf("%d leaves, want 2000", n)
	}
}

// Series that share a path are counted, and logged once an hour as long as there are more of them.
func TestCollisionsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForest(t, newTables(t), true)
		ctx, stop := context.WithCancel(t.Context())
		var log strings.Builder
		var group sync.WaitGroup
		group.Go(func() { _ = f.Run(ctx, time.Minute, slog.New(slog.NewTextHandler(&log, nil))) })
		synctest.Wait()
		for i := range 200 {
			if err := f.Observe(t.Context(), []NewSeries{numbered(i+1, fmt.Sprintf("a.b.c%d", i/10%2))}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		stop()
		group.Wait()
		if n := strings.Count(log.String(), "have one path"); n != 4 || !strings.Contains(log.String(), "path=a.b.c0") {
			t.Errorf("told %d times in 200 minutes:\n%s", n, &log)
		}
		if got, want := f.Status().Trees[0].Shared, (Sharing{198, "a.b.c0"}); got != want {
			t.Errorf("shared: %v, want %v", got, want)
		}
	})
}
