package compact

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const day0 = 1_699_920_000 // midnight, seconds

// world is a table in memory and its clock.
type world struct {
	*testing.T
	db     oneRegion
	layout schema.Layout
	clock  int64 // milliseconds
}

func newWorld(t *testing.T, l schema.Layout) *world {
	w := &world{T: t, db: oneRegion{kv.NewShared(kvtest.Tables()...)}, layout: l, clock: (day0 + 12*3600) * 1000}
	w.db.SetClock(func() int64 { return w.clock })
	return w
}

// oneRegion is a table that is not cut, where Shared cuts it between any two rows.
type oneRegion struct{ *kv.Shared }

// Split implements kv.Splitter.
func (oneRegion) Split(_ context.Context, s kv.Scan, _ int) ([]kv.Scan, error) {
	return []kv.Scan{s}, nil
}

// hours has an hour of single cells written, each when it was measured, for some series of some
// metrics, and hours before that.
func (w *world) hours(base uint32, hours, metrics, series int) {
	w.Helper()
	for m := range metrics {
		for s := range series {
			for h := range hours {
				w.put(m, s, base+uint32(h)*3600, 0, 20)
			}
		}
	}
}

// put writes single cells of a minute each.
func (w *world) put(metric, series int, base uint32, from, to int) {
	w.Helper()
	w.putAt(metric, series, base, from, to, func(minute int) int64 { return int64(base)*1000 + int64(minute)*60_000 + 150 })
}

// fill writes single cells of a minute each now.
func (w *world) fill(metric, series int, base uint32, from, to int) {
	w.Helper()
	w.putAt(metric, series, base, from, to, func(int) int64 { return w.clock })
}

// putAt writes single cells with the stamps of their minutes.
func (w *world) putAt(metric, series int, base uint32, from, to int, stamp func(minute int) int64) {
	w.Helper()
	tsuid := w.layout.AppendTSUID(nil, []byte{0, 0, byte(metric + 1)}, []schema.Pair{{Key: []byte{0, 0, 1}, Value: []byte{0, 0, byte(series + 1)}}})
	m := kv.Mutation{Key: w.layout.AppendRowKey(nil, tsuid, base)}
	for i := from; i < to; i++ {
		p, _ := schema.FloatPoint(uint32(i)*60_000, float64(i)+float64(series)/8, schema.ValuesAuto)
		q, v := schema.AppendCell(nil, nil, []schema.Point{p})
		m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: v, Time: stamp(i)})
	}
	if err := w.db.Apply(w.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
		w.Fatal(err)
	}
}

// start starts a process.
func (w *world) start(db kv.KV) *Compactor {
	return New(Options{
		DB: kv.NewEngine(db, false), Data: "tsdb", Leases: "tsdb-tree", Layout: w.layout, After: 2 * time.Hour, Quiet: Quiet,
		Now: func() time.Time { return time.UnixMilli(w.clock) }, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
}

func (w *world) look(c *Compactor) {
	w.Helper()
	if err := c.Look(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// points are what the rows hold, a line for each, and how many rows have several cells of points,
// by their hour.
func (w *world) points() (lines []string, open map[uint32]int) {
	w.Helper()
	open = map[uint32]int{}
	var content row.Row
	for r, err := range w.db.Scan(w.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err == nil {
			err = content.Load(r.Cells)
		}
		if err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("%x:", r.Key)
		for _, p := range content.Points {
			line += fmt.Sprintf(" %d=%v", p.Offset, p.Float())
		}
		lines = append(lines, line)
		cells := 0
		for _, c := range r.Cells {
			if schema.ClassifyCell(c.Qualifier) == schema.CellData {
				cells++
			}
		}
		if key, err := w.layout.ParseRowKey(r.Key); err == nil && cells > 1 {
			open[key.Base]++
		}
	}
	return lines, open
}

// same fails unless the rows hold what they held before.
func (w *world) same(before []string) (open map[uint32]int) {
	w.Helper()
	after, open := w.points()
	if diff := cmp.Diff(before, after); diff != "" {
		w.Fatalf("the points are others (-before +after):\n%s", diff)
	}
	return open
}

func salted() schema.Layout {
	l := schema.DefaultLayout()
	l.SaltWidth, l.SaltBuckets = 1, 4
	return l
}

// Hours that are closed are compacted, others are not; a late point makes a second look necessary,
// a day later.
func TestClosedHours(t *testing.T) {
	for name, layout := range map[string]schema.Layout{"plain": schema.DefaultLayout(), "salted": salted()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, layout)
				w.hours(day0+6*3600, 6, 3, 5) // to noon, which it is
				before, _ := w.points()
				c := w.start(w.db.Shared) // in many regions
				w.look(c)
				// 6, 7, 8, 9 o'clock: of the hours from 10 on one is over for less than two hours.
				if diff := cmp.Diff(map[uint32]int{day0 + 10*3600: 15, day0 + 11*3600: 15}, w.same(before)); diff != "" {
					t.Errorf("rows of several cells (-want +got):\n%s", diff)
				}
				w.put(0, 0, day0+7*3600, 20, 21)
				before, _ = w.points()
				w.clock += 3600_000
				w.look(c)
				if diff := cmp.Diff(map[uint32]int{day0 + 7*3600: 1, day0 + 11*3600: 15}, w.same(before)); diff != "" {
					t.Errorf("an hour later (-want +got):\n%s", diff)
				}
				w.clock += 36 * 3600_000
				w.look(c) // the hours that have closed
				w.look(c) // those of the day before, again
				if open := w.same(before); len(open) > 0 {
					t.Errorf("a day later: %v", open)
				}
				if s := c.Status(); s.Err != nil || s.Rows != 6*15+1 || s.Until.Unix() != day0+(12+37-2)*3600 {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// Whatever call fails, before or after it took effect, and whichever process goes on: no point is
// lost or changed, and in the end all that is closed is compacted.
func TestKilledAtEveryStep(t *testing.T) {
	for _, method := range []kvtest.Method{kvtest.Scan, kvtest.Get, kvtest.History, kvtest.Unchanged, kvtest.CheckAndPut} {
		for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After} {
			t.Run(fmt.Sprint(method, " ", when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { killAtEveryStep(t, method, when) })
			})
		}
	}
}

func killAtEveryStep(t *testing.T, method kvtest.Method, when kvtest.When) {
	for nth := 1; ; nth++ {
		w := newWorld(t, salted())
		w.hours(day0+7*3600, 3, 2, 4)
		before, _ := w.points()
		faulty := kvtest.NewVersioned(w.db)
		faulty.Fail(method, nth, when)
		ctx, kill := context.WithCancel(t.Context())
		err := w.start(faulty).Look(ctx)
		kill()
		w.same(before)
		w.clock += leaseTime.Milliseconds() + 1 // of the lease of the process that was killed
		w.look(w.start(w.db))
		if open := w.same(before); len(open) > 0 {
			t.Fatalf("call %d failed: rows of several cells are left: %v", nth, open)
		}
		if err == nil {
			if faulty.Calls(method) >= nth {
				continue // such as a lost answer that was found out
			}
			return
		}
	}
}

// A process leaves what another one has a lease of, takes it over when the lease ends, and goes on
// where the other one was.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, salted())
		w.hours(day0+7*3600, 3, 2, 4)
		other, c := w.start(w.db), w.start(w.db)
		book, err := other.readLeases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts, err := other.parts(t.Context())
		if err != nil || len(parts) != 4 {
			t.Fatalf("%d parts, %v, want one for each salt bucket", len(parts), err)
		}
		l := book.of(parts[2])
		held, _ := other.next(l.Lease, time.UnixMilli(w.clock))
		held.Owner, held.Until = other.owner, w.clock+leaseTime.Milliseconds()
		if ok, err := other.write(t.Context(), &l, held); !ok || err != nil {
			t.Fatal(ok, err)
		}
		before, _ := w.points()
		w.look(c)
		left := 0
		for _, n := range w.same(before) {
			left += n
		}
		if s := c.Status(); s.Parts != 4 || s.Others != 1 || left == 0 || left == 24 {
			t.Errorf("%d rows left of 24, status %+v", left, s)
		}
		w.clock += leaseTime.Milliseconds()
		w.look(c)
		if open := w.same(before); len(open) > 0 {
			t.Errorf("the lease has ended: %v left", open)
		}
		// The first owner finds out when it goes on.
		if ok, err := other.write(t.Context(), &l, held); err != nil {
			t.Error(err)
		} else if next := held; !ok {
			t.Error("the record that it wrote itself is not its own")
		} else if next.Until++; true {
			if ok, err := other.write(t.Context(), &l, next); ok || err != nil {
				t.Errorf("a lease that was taken over is renewed: %v, %v", ok, err)
			}
		}
	})
}

// Two processes at once share the table; others write to the same rows all the time.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, salted())
		w.hours(day0+4*3600, 6, 3, 5)
		ctx, stop := context.WithCancel(t.Context())
		writing := make(chan struct{})
		go func() { // late points, with old stamps, as a log that is replayed writes them
			defer close(writing)
			for i := 20; i < 50 && ctx.Err() == nil; i++ {
				w.put(i%3, i%5, uint32(day0+4*3600+i%6*3600), i, i+1)
				time.Sleep(10 * time.Millisecond)
			}
		}()
		done := make(chan error)
		for range 3 {
			go func() { done <- w.start(w.db).Look(ctx) }()
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		<-writing
		stop()
		before, _ := w.points()
		w.clock += 40 * 3600_000
		c := w.start(w.db)
		w.look(c)
		w.look(c)
		if open := w.same(before); len(open) > 0 {
			t.Errorf("left: %v", open)
		}
		points := 0
		for _, line := range before {
			points += strings.Count(line, "=")
		}
		if points != 6*15*20+30 {
			t.Errorf("%d points, want %d", points, 6*15*20+30)
		}
	})
}

// A part that a split made is as far as the one it was cut from, parts that were merged as far as
// the last of them.
func TestLeasesOfSplitRegions(t *testing.T) {
	at := func(start, end string, done, from, to uint32) lease {
		return lease{start: []byte(start), record: []byte{1}, Lease: own.Lease{Done: done, Again: done - 5, Walked: int64(done) * 1000, From: from, To: to, End: []byte(end)}}
	}
	book := leases{at("b", "d", 100, 0, 0), at("d", "e5", 200, 0, 0), at("f", "", 300, 250, 300)}
	for _, c := range []struct {
		start, stop string
		done, again uint32
		own         bool
	}{
		{"a", "b", 0, 0, false},
		{"b", "d", 100, 95, true},
		{"c", "d", 100, 95, false},
		{"d", "", 200, 195, true},
		{"b", "", 100, 95, true},
		{"e", "f", 200, 195, false},
		{"e7", "f", 0, 0, false}, // never had a lease
		{"g", "", 250, 250, false},
	} {
		l := book.of(part{[]byte(c.start), []byte(c.stop)})
		if walked := int64(l.Done+l.From) * 1000; l.From == 0 && l.To == 0 && c.done != 250 && l.Walked != walked {
			t.Errorf("%s to %s: walked %d, want %d", c.start, c.stop, l.Walked, walked)
		}
		if l.Done != c.done || l.Again != c.again || (l.record != nil) != c.own {
			t.Errorf("%s to %s: done %d, again %d, own record %v; want %d, %d, %v", c.start, c.stop, l.Done, l.Again, l.record != nil, c.done, c.again, c.own)
		}
	}
}

// Changes never come faster than the bound, nor take more than half of the time.
func TestPause(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		took, cells := time.Duration(rng.Int64N(int64(2*time.Second))), rng.IntN(300_000)
		p := pause(took, cells)
		if p < took {
			t.Fatalf("%v after %v", p, took)
		}
		if rate := float64(cells) / (took + p).Seconds(); rate > cellsPerSecond*1.001 {
			t.Fatalf("%d cells in %v and a pause of %v: %.0f cells/s", cells, took, p, rate)
		}
	}
}
