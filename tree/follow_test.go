package tree

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
