package compact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	hour = uint32(3600)
	day  = 24 * hour
)

// settled is a world whose closed hours have been compacted, twice where a day has passed, and in
// which old rows were written to since: in hours of single cells, and in one that was compacted.
func settled(t *testing.T, layout schema.Layout) *world {
	w := newWorld(t, layout)
	w.hours(day0+6*hour, 3, 2, 4)
	c := w.start(w.db)
	w.look(c)
	w.pass(c, 36*time.Hour)
	w.fill(0, 1, day0-100*day, 0, 10) // before the first look's horizon
	w.fill(1, 2, day0-100*day, 0, 10)
	w.fill(1, 3, day0-3*day, 0, 10)
	w.fill(1, 2, day0+7*hour, 20, 30)
	return w
}

// pass lets time pass, with looks each hour, of which each does one thing.
func (w *world) pass(c *Compactor, d time.Duration) {
	w.Helper()
	for range d / time.Hour {
		w.clock += time.Hour.Milliseconds()
		for range 3 {
			w.look(c)
		}
	}
}

// Rows that are written to long after their hour are compacted within a day, and no others are
// looked at.
func TestWalk(t *testing.T) {
	for name, layout := range map[string]schema.Layout{"plain": schema.DefaultLayout(), "salted": salted()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := settled(t, layout)
				before, open := w.points()
				want := map[uint32]int{day0 - 100*day: 2, day0 - 3*day: 1, day0 + 7*hour: 1}
				if diff := cmp.Diff(want, open); diff != "" {
					t.Fatalf("rows of several cells (-want +got):\n%s", diff)
				}
				c := w.start(w.db)
				w.pass(c, 26*time.Hour)
				if open := w.same(before); len(open) > 0 {
					t.Errorf("a day later: %v", open)
				}
				if s := c.Status(); s.Rows != 4 {
					t.Errorf("status %+v, want 4 rows", s)
				}
				history := &countedHistory{Shared: w.db.Shared}
				w.pass(w.start(history), 96*time.Hour)
				if history.rows > 0 {
					t.Errorf("days later %d rows are read with their past again", history.rows)
				}
			})
		})
	}
}

// countedHistory counts the rows that are read with their past.
type countedHistory struct {
	*kv.Shared
	rows int
}

func (c *countedHistory) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	c.rows += len(keys)
	return c.Shared.History(ctx, table, family, keys)
}

// Split implements kv.Splitter.
func (*countedHistory) Split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	return oneRegion{}.Split(ctx, s, n)
}

// Whatever call fails in the middle of a walk, before or after it took effect: no point is lost or
// changed, and another process goes on.
func TestWalkKilledAtEveryStep(t *testing.T) {
	for _, method := range []kvtest.Method{kvtest.Scan, kvtest.Get, kvtest.History, kvtest.Unchanged, kvtest.CheckAndPut} {
		for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After} {
			t.Run(fmt.Sprint(method, " ", when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for nth, more := 1, true; more; nth++ {
						more = walkKilledAt(t, method, nth, when)
					}
				})
			})
		}
	}
}

// walkKilledAt reports whether there may be a later call that can fail.
func walkKilledAt(t *testing.T, method kvtest.Method, nth int, when kvtest.When) bool {
	w := settled(t, salted())
	before, _ := w.points()
	w.pass(w.start(w.db), 11*time.Hour) // the last one was a day before the next
	if open := w.same(before); len(open) != 3 {
		t.Fatalf("before the walk: %v", open)
	}
	w.clock += time.Hour.Milliseconds()
	faulty := kvtest.NewVersioned(w.db)
	faulty.Fail(method, nth, when)
	ctx, kill := context.WithCancel(t.Context())
	err := w.start(faulty).Look(ctx)
	kill()
	w.same(before)
	w.pass(w.start(w.db), time.Hour)
	if open := w.same(before); len(open) > 0 {
		t.Fatalf("call %d failed: rows of several cells are left: %v", nth, open)
	}
	return err != nil || faulty.Calls(method) >= nth
}

// slowScans lets time pass with each scan of a walk, and notes where these begin.
type slowScans struct {
	oneRegion
	w      *world
	starts [][]byte
}

func (s *slowScans) Scan(ctx context.Context, scan kv.Scan) iter.Seq2[kv.Row, error] {
	if scan.Since > 0 {
		s.w.clock += (2 * time.Minute).Milliseconds()
		s.starts = append(s.starts, scan.Start)
	}
	return s.oneRegion.Scan(ctx, scan)
}

// A long walk gives way to hours that close, and another process goes on where it was.
func TestWalkGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := settled(t, schema.DefaultLayout())
		for metric := range 60 {
			w.fill(metric, 0, day0-200*day, 0, 3)
		}
		before, _ := w.points()
		w.pass(w.start(w.db), 11*time.Hour)
		w.clock += time.Hour.Milliseconds() // a walk is due
		last, pauses := []byte(nil), 0
		for looks := 1; ; looks++ {
			slow := &slowScans{oneRegion: w.db, w: w}
			c := w.start(slow)
			w.look(c)
			open := w.same(before)
			book, err := c.readLeases(t.Context())
			if err != nil || len(book) != 1 {
				t.Fatal(book, err)
			}
			if len(slow.starts) == 0 && looks < 3 {
				continue // hours that have closed come first
			}
			if len(slow.starts) > 0 && bytes.Compare(slow.starts[0], last) < 0 {
				t.Errorf("look %d begins at %x, the one before was at %x", looks, slow.starts[0], last)
			}
			if last = book[0].WalkAt; book[0].Walk == 0 {
				if len(open) > 0 || pauses < 2 {
					t.Errorf("after %d pauses: %v", pauses, open)
				}
				return
			}
			if pauses++; looks > 8 || len(last) == 0 || pauses == 1 && len(open) == 0 {
				t.Fatalf("look %d: the walk is at %x, left are %v", looks, last, open)
			}
		}
	})
}

// Rows are written to at any time, by processes whose clocks differ, and processes that compact are
// killed. No point is lost or changed, and two days after the last write every row is compacted.
func TestWalkModel(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random histories of writes to old rows", 8, 24, 1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { walkModel(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func walkModel(t *testing.T, r *rand.Rand) {
	w := newWorld(t, salted())
	methods := []kvtest.Method{kvtest.Scan, kvtest.Get, kvtest.History, kvtest.Unchanged, kvtest.CheckAndPut}
	whens := []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After}
	for range 60 {
		for range r.IntN(8) {
			w.fillSometime(r)
		}
		before, _ := w.points()
		faulty := kvtest.NewVersioned(w.db)
		if r.IntN(3) == 0 {
			faulty.Fail(methods[r.IntN(len(methods))], 1+r.IntN(20), whens[r.IntN(len(whens))])
		}
		for range 1 + r.IntN(3) {
			if err := w.start(faulty).Look(t.Context()); err != nil && !errors.Is(err, kvtest.ErrFault) {
				t.Fatal(err)
			}
			w.same(before)
			w.clock += leaseTime.Milliseconds() + 1
		}
		w.clock += r.Int64N(8 * time.Hour.Milliseconds())
	}
	before, _ := w.points()
	w.pass(w.start(w.db), 60*time.Hour)
	if open := w.same(before); len(open) > 0 {
		t.Errorf("rows of several cells are left: %v", open)
	}
}

// fillSometime writes to an hour of the last days, or long ago, with a clock that differs.
func (w *world) fillSometime(r *rand.Rand) {
	base := uint32(w.clock/1000)/hour*hour - uint32(r.IntN(60))*hour
	if r.IntN(2) == 0 {
		base -= uint32(r.IntN(200)) * day
	}
	skew := r.Int64N(20*60_000) - 10*60_000
	from := r.IntN(50)
	w.putAt(r.IntN(3), r.IntN(4), base, from, from+1+r.IntN(10), func(int) int64 { return w.clock + skew })
}
