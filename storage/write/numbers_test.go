package write_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// growth is a store whose batches all bring new series, and what it acknowledged. The value of a
// point tells its series, so that points under the number of another series are noticed.
type growth struct {
	t       *testing.T
	rng     *rand.Rand
	db      *kv.Mem
	disk    *logtest.Disk
	process *storetest.Process
	series  []storage.Series
	flushes bool // rows are put into the table while batches come

	mu   sync.Mutex // guards all below
	at   int64
	sure map[growthPoint]bool // was acknowledged; false: refused, so it may be there
}

// growthBegin is the begin of all points, 2013: their rows are due at once.
const growthBegin = 1356998400000

type growthPoint struct {
	series int
	at     int64
}

func growthValue(p growthPoint) float64 { return float64(p.series)*1e6 + float64(p.at%1e6) }

func (g *growth) start() {
	g.process = storetest.StartBuffered(g.t, g.db, g.disk, func(o *store.Options) {
		o.Buffer.SegmentBytes = 2 << 10
		if !g.flushes {
			o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
		}
	})
}

// round resolves new series, and has several append points of them and of earlier ones at once.
func (g *growth) round() {
	for range 1 + g.rng.IntN(5) {
		g.series = append(g.series, storetest.Series(fmt.Sprint("m", g.rng.IntN(3)), "host", fmt.Sprint("h", len(g.series))))
	}
	refs := g.process.Resolve(g.series)
	var group sync.WaitGroup
	for worker := range uint64(3) {
		r := rand.New(rand.NewPCG(g.rng.Uint64(), worker))
		group.Go(func() { g.append(r, refs) })
	}
	group.Wait()
}

func (g *growth) append(r *rand.Rand, refs []storage.Ref) {
	var b storage.Batch
	var points []growthPoint
	g.mu.Lock()
	g.at += 1000
	for range 1 + r.IntN(12) {
		p := growthPoint{max(0, len(refs)-1-r.IntN(8)), growthBegin + g.at}
		if _, twice := g.sure[p]; !twice {
			points, g.sure[p] = append(points, p), false
			b.Add(refs[p.series], p.at, growthValue(p))
		}
	}
	g.mu.Unlock()
	if g.process.Append(g.t.Context(), &b) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range points {
		g.sure[p] = true
	}
}

// end ends the process: in order, by a kill or by a loss of power.
func (g *growth) end() {
	g.disk.SetBefore(nil)
	switch g.process.Stop(); g.rng.IntN(3) {
	case 0:
		g.process.End()
	case 1:
		g.disk = g.disk.Kill(g.rng.Uint64())
	case 2:
		g.disk = g.disk.Crash(g.rng.Uint64())
	}
}

func (g *growth) check(s *store.Store) {
	g.t.Helper()
	refs := storetest.Resolve(g.t, s, g.series...)
	at := map[storage.Ref]int{}
	for i, ref := range refs {
		at[ref] = i
	}
	there := map[growthPoint]bool{}
	for found, err := range s.Select(g.t.Context(), storage.Query{Refs: refs, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			g.t.Fatal(err)
		}
		for i, when := range found.Times {
			p := growthPoint{at[found.Ref], when}
			if _, written := g.sure[p]; !written || found.Values[i] != growthValue(p) {
				g.t.Errorf("series %d has %v at %d, which is not its own", p.series, found.Values[i], when)
			}
			there[p] = true
		}
	}
	for p, sure := range g.sure {
		if sure && !there[p] {
			g.t.Errorf("the point of series %d at %d was acknowledged and is lost", p.series, p.at)
		}
	}
}

// TestNewSeriesOverEnds keeps new series apart and loses no acknowledged point of them, whatever
// call of the log's disk fails and however the process ends.
func TestNewSeriesOverEnds(t *testing.T) {
	broken := errors.New("no such luck")
	for seed := range scale.Of[uint64](t, "random growths of a store", 20, 40, 600) {
		g := &growth{t: t, rng: rand.New(rand.NewPCG(seed, 7)), db: kv.NewMem(storetest.Tables()...), disk: logtest.New(seed), sure: map[growthPoint]bool{}}
		for range 6 {
			g.flushes = g.rng.IntN(2) == 0
			g.start()
			g.check(g.process.Store)
			calls, nth := 0, g.rng.IntN(60)
			var mu sync.Mutex
			g.disk.SetBefore(func(logtest.Op, string) error {
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls == nth {
					return broken
				}
				return nil
			})
			for range g.rng.IntN(12) {
				g.round()
			}
			g.check(g.process.Store)
			g.end()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		g.start()
		g.check(g.process.Store)
		g.process.End()
		through := storetest.Open(t, g.db)
		g.check(through)
	}
}

// TestOneSyncForNewSeries: the first append of series syncs the log once, as every other append
// does.
func TestOneSyncForNewSeries(t *testing.T) {
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	s := storetest.StartBuffered(t, db, disk, neverFlush, func(o *store.Options) { o.Buffer.CheckInterval, o.Buffer.SegmentBytes = 1<<40, 1<<20 })
	syncs := 0
	disk.SetBefore(func(op logtest.Op, _ string) error {
		if op == logtest.OpSyncData {
			syncs++
		}
		return nil
	})
	for n := range 5 {
		refs := storetest.Resolve(t, s.Store, storetest.Series("m", "host", fmt.Sprint(n)), storetest.Series("m", "host", fmt.Sprint("other", n)))
		before := syncs
		if err := s.Append(t.Context(), numbered(n, refs)); err != nil {
			t.Fatal(err)
		}
		if n > 0 && syncs != before+1 { // the first one begins a segment
			t.Errorf("append %d of new series: %d syncs, want 1", n, syncs-before)
		}
	}
	s.Stop()
}

// TestManyNewSeriesInOneBatch: more series than one record numbers.
func TestManyNewSeriesInOneBatch(t *testing.T) {
	const many = 40_000
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	s := storetest.StartBuffered(t, db, disk, neverFlush)
	list := make([]storage.Series, many)
	for i := range list {
		list[i] = storetest.Series("m", "host", fmt.Sprint(i))
	}
	var b storage.Batch
	for i, ref := range s.Resolve(list) {
		b.Add(ref, growthBegin, float64(i))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s = storetest.StartBuffered(t, db, disk.Crash(1), neverFlush)
	refs := s.Resolve(list)
	n := 0
	for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Values) != 1 || refs[int(p.Values[0])] != p.Ref {
			t.Fatalf("%v has %v", p.Ref, p.Values)
		}
		n++
	}
	if n != many {
		t.Errorf("%d series of %d have their point", n, many)
	}
}

// TestNumbersInPointsAlone: while the numbers of series are in the log of points alone, the store
// is compared with them, and a salvage knows the series.
func TestNumbersInPointsAlone(t *testing.T) {
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	slow := func(o *store.Options) { o.Buffer.CheckInterval = 1 << 40 }
	s := storetest.StartBuffered(t, db, disk, neverFlush, slow)
	refs := storetest.Resolve(t, s.Store, twoSeries...)
	const batches = 4
	for n := range batches {
		if err := s.Append(t.Context(), numbered(n, refs)); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop()
	disk = disk.Kill(1)
	o := write.BufferOptions{Dir: "log", FS: disk}
	older := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	if unknown, err := older.UnknownInLog(t.Context(), o); err != nil || unknown != len(twoSeries) {
		t.Errorf("an empty store lacks %d series of the log, want %d: %v", unknown, len(twoSeries), err)
	}
	same := storetest.Open(t, db)
	if unknown, err := same.UnknownInLog(t.Context(), o); err != nil || unknown != 0 {
		t.Errorf("the store lacks %d series of its log: %v", unknown, err)
	}
	if _, left, err := same.SalvageLog(t.Context(), o); err != nil || left != 0 {
		t.Fatalf("salvage leaves %d records: %v", left, err)
	}
	for n, there := range found(t, same, storetest.Resolve(t, same, twoSeries...), batches) {
		if !there {
			t.Errorf("batch %d is lost", n)
		}
	}
}
