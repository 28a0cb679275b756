package forest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// slowly is a catalog that takes a minute for a batch, and fails after some batches.
type slowly struct {
	listed
	mu    sync.Mutex // guards all below
	fail  int        // batches until it fails; 0: never
	begun [][]byte   // where it was asked to begin
}

func (s *slowly) EachTSUID(ctx context.Context, c storage.SeriesScan, visit func([][]byte) error) error {
	s.mu.Lock()
	s.begun = append(s.begun, c.From)
	s.mu.Unlock()
	return s.listed.EachTSUID(ctx, c, func(tsuids [][]byte) error {
		time.Sleep(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fail > 0 {
			if s.fail--; s.fail == 0 {
				return errors.New("away")
			}
		}
		return visit(tsuids)
	})
}

// follow runs a forest and its follower until the test ends or the returned function is called.
func follow(t *testing.T, db kv.KV, c Catalog, exclusive bool) (w *Follower, stop func()) {
	t.Helper()
	o := DefaultOptions()
	o.Exclusive = exclusive
	f := New(db, o)
	logger := slog.New(slog.DiscardHandler)
	w = NewFollower(f, c, FollowOptions{Every: 30 * time.Second, Series: func() int { return 100 }, Logger: logger, Now: time.Now})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = f.Run(ctx, 30*time.Second, logger) })
	group.Go(func() { _ = w.Run(ctx) })
	return w, func() { cancel(); group.Wait() }
}

// A new tree, and a tree whose rules changed, gets the existing series. After a failure, a stop, or
// work of other processes, the follower does not begin anew.
func TestFollower(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			db := newTables(t)
			c := &slowly{listed: listed{size: 10}, fail: 4}
			for i := range 100 {
				c.series = append(c.series, numbered(i+1, "cpu.user.n"+string(rune('a'+i%26))+string(rune('a'+i/26))))
			}
			leaves := func() int { return newForest(t, db, false).Index().Leaves() }
			w, stop := follow(t, db, c, exclusive)
			time.Sleep(3 * time.Minute)
			if s := w.State(); !s.Running || s.Report.Series == 0 || s.Of != 100 || !slices.Equal(s.Waiting, []string{"default"}) {
				t.Errorf("after three minutes %+v", s)
			}
			for range 180 {
				if w.State().Passes == 0 {
					time.Sleep(time.Second)
				}
			}
			if s := w.State(); s.Err == nil || len(s.Waiting) != 1 {
				t.Errorf("after a failure %+v", s)
			}
			time.Sleep(4 * time.Minute)
			stop()
			before := leaves()
			if len(c.begun) != 2 || len(c.begun[1]) == 0 || before < 50 || before == 100 {
				t.Errorf("passes from %X on, %d leaves", c.begun, before)
			}
			w, stop = follow(t, db, c, exclusive)
			defer func() { stop() }()
			time.Sleep(10 * time.Minute)
			if s := w.State(); s.Running || s.Err != nil || len(s.Waiting) > 0 || leaves() != 100 || len(c.begun) != 3 || len(c.begun[2]) == 0 {
				t.Errorf("after a restart %+v, passes from %X on, %d leaves", s, c.begun, leaves())
			}
			declare(t, db, schema.TreeRule{Type: "TAGK", Field: "n"}, schema.TreeRule{Type: "METRIC", Level: 1})
			time.Sleep(20 * time.Minute)
			if s := w.State(); len(s.Waiting) > 0 || leaves() != 200 || len(c.begun) != 4 || len(c.begun[3]) > 0 {
				t.Errorf("after other rules %+v, passes from %X on, %d leaves", s, c.begun, leaves())
			}
			if err := errors.Join(w.Ask(DefaultSyncOptions())); err != nil || !errors.Is(w.Ask(DefaultSyncOptions()), ErrBusy) {
				t.Errorf("asked: %v, and again", err)
			}
			time.Sleep(20 * time.Minute)
			if s := w.State(); s.Running || s.Report.Series != 100 || len(c.begun) != 5 {
				t.Errorf("after it was asked %+v, passes from %X on", s, c.begun)
			}
		})
	}
}

// Of several processes, one appends the existing series.
func TestFollowersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newTables(t)
		c := &slowly{listed: syncSeries(60)}
		var stops []func()
		for range 3 {
			_, stop := follow(t, db, c, false)
			stops = append(stops, stop)
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Hour)
		for _, stop := range stops {
			stop()
		}
		if n := len(c.begun); n != 1 {
			t.Errorf("%d passes by three processes", n)
		}
	})
}

// hesitating waits after the first note that a tree is cleared, so that a pass begins before the
// leaves are deleted.
type hesitating struct {
	kv.KV
	wait time.Duration
}

func (h *hesitating) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	err := h.KV.Apply(ctx, table, family, rows)
	if len(rows[0].Puts) == 1 && string(rows[0].Puts[0].Qualifier) == clearedColumn {
		time.Sleep(h.wait)
		h.wait = 0
	}
	return err
}

// A tree that is cleared gets the existing series again, also if it is cleared while a pass is under
// way.
func TestFollowerAfterClear(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var db kv.KV = newTables(t)
			if !exclusive {
				db = kv.NewShared(forgetTables()...)
				declare(t, db, schema.TreeRule{Type: "METRIC", Separator: `\.`})
			}
			c, slow := &slowly{listed: syncSeries(60)}, &hesitating{KV: db}
			w, stop := follow(t, slow, c, exclusive)
			defer stop()
			leaves := func() int { return newForest(t, db, false).Index().Leaves() }
			time.Sleep(time.Hour)
			all := leaves()
			if all == 0 || len(w.State().Waiting) > 0 {
				t.Fatalf("%d leaves, %+v", all, w.State())
			}
			for range 2 {
				slow.wait = 6*time.Minute + 17*time.Second // in which a pass begins
				if err := w.forest.Clear(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if s := w.State(); leaves() != 0 || len(s.Waiting) != 1 || !s.Running {
					t.Errorf("exclusive %v: %d leaves of a tree that was cleared, %+v", exclusive, leaves(), s)
				}
			}
			time.Sleep(time.Hour)
			if n := leaves(); n != all || len(w.State().Waiting) > 0 {
				t.Errorf("exclusive %v: %d leaves, want %d, %+v", exclusive, n, all, w.State())
			}
		})
	}
}
