package store_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

const fillConfig = `{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3},"intervals":[
	{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"t10m","preAggregationTable":"pre-10m","interval":"10m","rowSpan":"6h"},
	{"table":"t1h","preAggregationTable":"pre-1h","interval":"1h","rowSpan":"1d"},
	{"table":"t1d","preAggregationTable":"pre-1d","interval":"1d","rowSpan":"1n"}]}`

// rollupTables are the tables of a store with the rollups of fillConfig.
func rollupTables() []kv.Table {
	tables := storetest.Tables()
	for _, name := range []string{"pre", "t10m", "pre-10m", "t1h", "pre-1h", "t1d", "pre-1d"} {
		tables = append(tables, kv.Table{Name: name, Families: []string{"t"}})
	}
	return tables
}

// A filledPoint is a value as its client sent it.
type filledPoint struct {
	v       float64
	i       int64
	integer bool
}

// A filledWorld is a store whose rollup tables are filled, and a plain list of its points.
type filledWorld struct {
	t      *testing.T
	rng    *rand.Rand
	db     kv.KV
	fail   *failing // nil: the engine does not fail
	disk   *logtest.Disk
	shared bool
	now    atomic.Int64 // milliseconds
	begun  time.Time
	p      *storetest.Process
	config *rollup.Config
	series []storage.Series
	refs   []storage.Ref
	points []map[int64]filledPoint
	change func(*store.Options)
	// windowed is whether windows were answered.
	windowed bool
}

const fillBegin = 1356998400000 // of the points, milliseconds: a day and a month begin

func (w *filledWorld) start() {
	c, err := rollup.ParseConfig([]byte(fillConfig), func(string) bool { return true })
	if err != nil {
		w.t.Fatal(err)
	}
	w.config = c
	w.p = storetest.StartBuffered(w.t, w.db, w.disk, func(o *store.Options) {
		o.Exclusive, o.Rollups = !w.shared, c
		o.Now = func() time.Time { return time.UnixMilli(w.clock()) }
		rule := job.Rule{Matches: func(s storage.Series) bool { return s.Metric != "other" }, Delay: 10 * time.Minute, Back: 30 * 24 * time.Hour}
		for i := range c.Intervals {
			if !c.Intervals[i].Default {
				rule.Intervals = append(rule.Intervals, &c.Intervals[i])
			}
		}
		o.FillRules = []job.Rule{rule}
		if w.change != nil {
			w.change(o)
		}
	})
	w.refs = w.p.Resolve(w.series)
}

func newFilledWorld(t *testing.T, seed uint64) *filledWorld {
	w := &filledWorld{t: t, rng: rand.New(rand.NewPCG(seed, 5)), disk: logtest.New(seed), begun: time.Now()}
	for _, metric := range []string{"m", "n", "other"} {
		for host := range 3 {
			w.series = append(w.series, storetest.Series(metric, "host", fmt.Sprint(host)))
			w.points = append(w.points, map[int64]filledPoint{})
		}
	}
	w.now.Store(fillBegin)
	return w
}

// clock goes on: deletions of shared tables wait for it.
func (w *filledWorld) clock() int64 { return w.now.Load() + time.Since(w.begun).Milliseconds() }

// advance moves the clock, to the middle of an interval of ten minutes.
func (w *filledWorld) advance(ms int64) {
	now := w.now.Load() + ms
	w.now.Store(now - now%600_000 + 300_000)
}

// write appends points of a time, most of them at random moments of it.
func (w *filledWorld) write(from, to int64, n int) {
	var b storage.Batch
	for range n {
		s, at := w.rng.IntN(len(w.series)), from+w.rng.Int64N(to-from)
		switch w.rng.IntN(4) {
		case 0:
			at -= at % 60_000 // the begin of an interval, and corrections
		case 1:
			at -= at % 3600_000
		}
		p := filledPoint{v: storetest.Values[w.rng.IntN(len(storetest.Values))]}
		if w.rng.IntN(3) == 0 {
			p = filledPoint{i: w.rng.Int64N(1 << 40), integer: true}
		}
		if s%3 == 0 { // integers alone
			p = filledPoint{i: w.rng.Int64N(300) - 150, integer: true}
		}
		if p.integer {
			p.v = float64(p.i)
			b.AddForm(w.refs[s], at, math.Float64frombits(uint64(p.i)), storage.FormInteger)
		} else {
			b.Add(w.refs[s], at, p.v)
		}
		w.points[s][at] = p
	}
	if err := w.p.Append(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *filledWorld) delete(from, to int64, whole bool) {
	s := w.rng.IntN(len(w.series))
	if _, err := w.p.Delete(w.t.Context(), storage.Deletion{Refs: w.refs[s : s+1], Start: from, End: to, Whole: whole}); err != nil {
		w.t.Fatal(err)
	}
	maps.DeleteFunc(w.points[s], func(at int64, _ filledPoint) bool { return whole || at >= from && at <= to })
}

// restart ends the process in some way, and starts it again.
func (w *filledWorld) restart() {
	if w.rng.IntN(2) == 0 {
		w.p.End()
	} else {
		w.p.Stop()
		w.disk = w.disk.Kill(w.rng.Uint64())
	}
	w.start()
}

// interrupted fills, is interrupted by a failing engine, and starts anew.
func (w *filledWorld) interrupted() {
	if w.fail == nil {
		return
	}
	w.fail.left.Store(int64(w.rng.IntN(12)))
	_ = w.p.FillRollups(w.t.Context())
	w.p.Stop()
	w.fail.left.Store(math.MaxInt64)
	w.disk = w.disk.Kill(w.rng.Uint64())
	w.start()
}

// check fills, and compares the tables with the points.
func (w *filledWorld) check(what string) {
	w.t.Helper()
	if err := w.p.FillRollups(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	for i := range w.config.Intervals {
		if interval := &w.config.Intervals[i]; !interval.Default {
			got, want := w.table(interval), w.want(interval)
			if d := cmp.Diff(want, got); d != "" {
				w.t.Fatalf("%s: table of %s at %v (-want +got):\n%s", what, interval.Name, time.UnixMilli(w.now.Load()).UTC(), d)
			}
		}
	}
}

// table returns the values of an interval: those of "series aggregation time".
func (w *filledWorld) table(i *rollup.Interval) map[string]string {
	got := map[string]string{}
	names := []string{"sum", "count", "min", "max"}
	for n, s := range w.series {
		found, err := w.p.Find(w.t.Context(), []storage.Filter{{Values: []string{s.Metric}}}, 0, storage.MaxTime, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(f storage.Found) bool { return f.Ref == w.refs[n] }) {
			continue
		}
		values, err := w.p.Rollups().Read(w.t.Context(), rollup.Query{
			Interval: i, Aggregations: names, TSUIDs: [][]byte{w.p.Catalog().TSUIDOf(w.refs[n])}, From: 0, To: math.MaxUint32 - 86400*400,
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for a, list := range values[0] {
			for _, v := range list {
				text := fmt.Sprintf("float %x", math.Float64bits(v.Point.Float()))
				if v.Point.IsInt() {
					text = fmt.Sprint(v.Point.Int())
				}
				got[fmt.Sprint(n, " ", names[a], " ", time.UnixMilli(v.Time).UTC().Format("02T15:04"))] = text
			}
		}
	}
	return got
}

// want is what the table should have.
func (w *filledWorld) want(i *rollup.Interval) map[string]string {
	want, length := map[string]string{}, int64(i.Seconds)*1000
	closed := w.now.Load() - (10 * time.Minute).Milliseconds()
	closed -= closed % length
	for n, points := range w.points {
		if w.series[n].Metric == "other" {
			continue
		}
		of := map[int64][]filledPoint{}
		for _, at := range slices.Sorted(maps.Keys(points)) {
			if p := points[at]; at < closed && !math.IsNaN(p.v) && !math.IsInf(p.v, 0) {
				of[at-at%length] = append(of[at-at%length], p)
			}
		}
		for begin, list := range of {
			integers := !slices.ContainsFunc(list, func(p filledPoint) bool { return !p.integer })
			sum, low, high, whole := 0.0, math.Inf(1), math.Inf(-1), int64(0)
			for k, p := range list {
				sum, whole = sum+p.v, whole+p.i
				if k == 0 || p.v < low {
					low = p.v
				}
				if k == 0 || p.v > high {
					high = p.v
				}
			}
			put := func(name string, v float64, integer int64) {
				text := fmt.Sprintf("float %x", math.Float64bits(v))
				if integers || name == "count" {
					text = fmt.Sprint(integer)
				} else if math.IsInf(v, 0) {
					return
				}
				want[fmt.Sprint(n, " ", name, " ", time.UnixMilli(begin).UTC().Format("02T15:04"))] = text
			}
			put("sum", sum, whole)
			put("count", 0, int64(len(list)))
			put("min", low, int64(low))
			put("max", high, int64(high))
		}
	}
	return want
}

// TestFillRollups: after random writes, late points, corrections, deletions and ends of the process the rollup
// tables hold what is computed of the points directly.
func TestFillRollups(t *testing.T) {
	for name, prepare := range map[string]func(w *filledWorld){
		"memory": func(w *filledWorld) {
			w.fail = &failing{Local: kv.NewMem(rollupTables()...)}
			w.fail.left.Store(math.MaxInt64)
			w.db = w.fail
		},
		"memory, through": func(w *filledWorld) {
			w.db = kv.NewMem(rollupTables()...)
			w.change = func(o *store.Options) { o.Mode = write.Through }
		},
		"embedded": func(w *filledWorld) {
			e, err := pebble.Open(pebble.Options{InMemory: true, Tables: rollupTables()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			w.db = e
		},
		"shared": func(w *filledWorld) {
			db := kv.NewShared(rollupTables()...)
			db.SetClock(w.clock)
			w.db, w.shared = db, true
			w.change = func(o *store.Options) { o.Mode = write.Through }
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				w := newFilledWorld(t, seed)
				prepare(w)
				w.start()
				w.history()
				w.p.End()
				if w.windowed == w.shared {
					t.Errorf("seed %d: windows were answered: %v", seed, w.windowed)
				}
			}
		})
	}
}

func (w *filledWorld) history() {
	const hour = 3600_000
	for step := range 14 {
		was := w.now.Load()
		w.advance(hour/2 + w.rng.Int64N(10*hour))
		w.write(was, w.now.Load(), 60)
		switch w.rng.IntN(8) {
		case 0, 1: // late
			w.write(fillBegin, w.now.Load(), 1+w.rng.IntN(40))
		case 2, 3:
			from := fillBegin + w.rng.Int64N(w.now.Load()-fillBegin)
			w.delete(from, from+w.rng.Int64N(8*hour), false)
		case 4:
			w.delete(0, storage.MaxTime, true)
		case 5:
			w.restart()
		case 6:
			w.interrupted()
		}
		for range 4 {
			w.windowed = w.checkWindows(fmt.Sprint("step ", step, ", not filled yet")) || w.windowed
		}
		if w.rng.IntN(3) > 0 {
			if w.shared { // late cells are looked for each hour
				w.advance(2 * hour)
			}
			w.check(fmt.Sprint("step ", step))
			for range 4 {
				w.windowed = w.checkWindows(fmt.Sprint("step ", step)) || w.windowed
			}
		}
	}
	w.restart()
	w.advance(30 * hour)
	w.check("end")
}

// TestFillAfterLoss: late points of which the log alone knows count after a start, as do those of a process that fills no tables.
func TestFillAfterLoss(t *testing.T) {
	w := newFilledWorld(t, 1)
	w.db = kv.NewMem(rollupTables()...)
	w.start()
	const hour = 3600_000
	w.advance(20 * hour)
	w.write(fillBegin, w.now.Load(), 100)
	w.check("filled")
	for range 3 {
		w.write(fillBegin, w.now.Load(), 20)
		w.p.Stop()
		w.disk = w.disk.Kill(1)
		w.dropNotes()
		w.start()
		w.check("after a kill that lost the notes")
	}
	w.p.End()
	w.change = func(o *store.Options) { o.FillRules = nil }
	w.start()
	w.write(fillBegin, w.now.Load(), 20)
	w.p.End()
	w.change = nil
	w.start()
	w.check("after a run without rules")
	w.p.End()
}

// dropNotes deletes the notes of late points, as the loss of what was not synced does.
func (w *filledWorld) dropNotes() {
	for row, err := range w.db.Scan(w.t.Context(), kv.Scan{Table: "tsdb-tree", Family: "t", Start: []byte("\x00\x00tsdbridge.rollups:late:"), Stop: []byte("\x00\x00tsdbridge.rollups:late;")}) {
		if err == nil {
			err = w.db.Apply(context.Background(), "tsdb-tree", "t", []kv.Mutation{{Key: row.Key, DeleteRow: true}})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestFillAfterRetention: values of intervals whose points are too old to be kept stay as they are, whatever comes late.
func TestFillAfterRetention(t *testing.T) {
	w := newFilledWorld(t, 1)
	w.db = kv.NewMem(rollupTables()...)
	w.change = func(o *store.Options) {
		o.RetentionRules = []retention.Rule{{Name: "m", Age: 48 * time.Hour, Filters: []storage.Filter{{Values: []string{"m"}}}, Matches: func(s storage.Series) bool { return s.Metric == "m" }}}
	}
	w.start()
	const hour = 3600_000
	w.advance(40 * hour)
	w.write(fillBegin, w.now.Load(), 300)
	w.check("filled")
	was := w.table(&w.config.Intervals[1])
	w.advance(30 * hour)
	if err := w.p.DeleteByRules(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.write(fillBegin, fillBegin+20*hour, 100) // too late
	if err := w.p.FillRollups(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := w.table(&w.config.Intervals[1])
	kept := 0
	for key, v := range was {
		if key[0] < '3' {
			if kept++; now[key] != v {
				t.Errorf("%s is %q, want %q", key, now[key], v)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing was filled")
	}
	w.p.End()
}
