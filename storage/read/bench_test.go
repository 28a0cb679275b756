package read_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// benchStore is a buffered store on an embedded engine on disk, with series of one metric, whose
// points are still in the head.
type benchStore struct {
	*store.Store
	engine *pebble.Engine
	refs   []storage.Ref
	stop   func()
}

// newBenchStore writes points of n series, one every 15 s, as counters and gauges with few
// decimals. Each group of 1000 series shares one value of a tag.
func newBenchStore(b *testing.B, n, points int) *benchStore {
	b.Helper()
	engine, err := pebble.Open(pebble.Options{Path: b.TempDir(), Tables: storetest.Tables()})
	if err != nil {
		b.Fatal(err)
	}
	o := store.DefaultOptions()
	o.Exclusive, o.Mode = true, write.Buffered
	o.Buffer.Dir, o.Buffer.FlushInterval, o.Buffer.FlushDelay = b.TempDir(), 1<<60, 1<<60
	s, err := store.New(engine, o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	store := &benchStore{Store: s, engine: engine, stop: sync.OnceFunc(func() { cancel(); <-done })}
	b.Cleanup(func() {
		store.stop()
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	for s.Ready(b.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	store.fill(b, n, points)
	return store
}

func (s *benchStore) fill(b *testing.B, n, points int) {
	var list []storage.Series
	for i := range n {
		list = append(list, storetest.Series("node_cpu_seconds_total", "dev", fmt.Sprint("d", i), "grp", fmt.Sprint("g", i%(n/100)), "job", "node"))
	}
	var errs []error
	if s.refs, errs = s.Resolve(b.Context(), list); errs != nil {
		b.Fatal(errs)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	counts := make([]int, n) // hundredths
	var batch storage.Batch
	for p := range points {
		for i := range counts {
			if i%2 == 0 {
				counts[i] += rng.IntN(1500)
			} else {
				counts[i] = rng.IntN(10_000)
			}
			batch.Add(s.refs[i], t0+int64(p)*15_000+int64(i%7), float64(counts[i])/100)
			if len(batch.Refs) == 10_000 {
				s.append(b, &batch)
			}
		}
	}
	s.append(b, &batch)
}

func (s *benchStore) append(b *testing.B, batch *storage.Batch) {
	if err := s.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	batch.Reset()
}

// settle puts everything into the table, and compacts it.
func (s *benchStore) settle(b *testing.B) {
	s.stop()
	if err := s.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := s.engine.Compact(b.Context(), "tsdb"); err != nil {
		b.Fatal(err)
	}
	s.Store = reopened(b, s.engine)
}

// reopened opens a store on the same table. Its numbers of the series are the same: they follow the
// order of tsdb-meta.
func reopened(b *testing.B, engine *pebble.Engine) *store.Store {
	o := store.DefaultOptions()
	o.Exclusive = true
	s, err := store.New(engine, o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	for s.Ready(b.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	return s
}

// BenchmarkSelect makes the queries of dashboards: one series for a day, many for an hour, few of
// very many.
func BenchmarkSelect(b *testing.B) {
	const day, hour, minutes = 24 * 240, 240, 20
	for _, c := range []struct {
		name           string
		series, points int
		ask            int   // every nth series
		span           int64 // ms, the end of the data
	}{
		{"1of1000x24h", 1000, day, 1000, 24 * 3600_000},
		{"1000x1h", 1000, hour, 1, 3600_000},
		{"256x1h", 1024, hour, 4, 3600_000},
		{"100of100000x5m", 100_000, minutes, 1000, 300_000},
		{"100000x3m", 100_000, minutes, 1, 180_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := newBenchStore(b, c.series, c.points)
			end := t0 + int64(c.points)*15_000 - 1
			q := storage.Query{Start: end - c.span + 1, End: end, Samples: true}
			for i := 0; i < c.series; i += c.ask {
				q.Refs = append(q.Refs, storage.Ref(i+1))
			}
			rand.New(rand.NewPCG(3, 4)).Shuffle(len(q.Refs), func(i, j int) { q.Refs[i], q.Refs[j] = q.Refs[j], q.Refs[i] })
			b.Run("head", func(b *testing.B) { store.selectLoop(b, q) })
			store.settle(b)
			b.Run("table", func(b *testing.B) { store.selectLoop(b, q) })
		})
	}
}

func (s *benchStore) selectLoop(b *testing.B, q storage.Query) {
	b.ReportAllocs()
	points, begin := 0, cpuTime()
	for b.Loop() {
		points += selectAll(b, s.Store, q)
	}
	b.ReportMetric(float64(cpuTime()-begin)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(points)/float64(b.N), "points")
}

func selectAll(b *testing.B, s *store.Store, q storage.Query) (points int) {
	for p, err := range s.Select(b.Context(), q) {
		if err != nil {
			b.Fatal(err)
		}
		points += len(p.Times)
	}
	return points
}

// BenchmarkSelectByTag reads 100 of very many series that have a tag in two ways: by their rows,
// including the work of the index that finds them, and by a scan of the metric's rows whose keys
// are matched with the tag, as a TSD does with a regexp, without the cost of the regexp.
func BenchmarkSelectByTag(b *testing.B) {
	const n = 100_000
	store := newBenchStore(b, n, 20)
	store.settle(b)
	q := storage.Query{Start: t0, End: t0 + 300_000, Samples: true}
	find := func() (refs []storage.Ref) {
		found, err := store.Find(b.Context(), []storage.Filter{
			{Values: []string{"node_cpu_seconds_total"}}, {Keys: []string{"grp"}, Values: []string{"g7"}},
		}, q.Start, q.End, 0)
		if err != nil || len(found) != 100 {
			b.Fatal(len(found), err)
		}
		for _, f := range found {
			refs = append(refs, f.Ref)
		}
		return refs
	}
	refs, match := find(), grp7(b, store.engine)
	for _, c := range []struct {
		name string
		read func() int
	}{
		{"rows", func() int { q.Refs = refs; return selectAll(b, store.Store, q) }},
		{"index and rows", func() int { q.Refs = find(); return selectAll(b, store.Store, q) }},
		{"scan", func() int { return scanAll(b, store.engine, match) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			begin := cpuTime()
			for b.Loop() {
				if points := c.read(); points != 2000 {
					b.Fatal(points)
				}
			}
			b.ReportMetric(float64(cpuTime()-begin)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// scanAll decodes the matching rows of the data table, which has only one metric and hour.
func scanAll(b *testing.B, db kv.KV, match *kv.Match) (points int) {
	for row, err := range db.Scan(b.Context(), kv.Scan{Table: "tsdb", Family: "t", Match: match}) {
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range row.Cells {
			times, _, err := columns.Append(nil, nil, c.Qualifier, c.Value, 0)
			if err != nil {
				b.Fatal(err)
			}
			points += len(times)
		}
	}
	return points
}

// grp7 returns a match of the tag's UIDs.
func grp7(b *testing.B, db kv.KV) *kv.Match {
	uid := func(name, kind string) []byte {
		rows, err := db.Get(b.Context(), "tsdb-uid", "id", [][]byte{[]byte(name)})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range rows[0].Cells {
			if string(c.Qualifier) == kind {
				return c.Value
			}
		}
		b.Fatal("no UID of", kind, name)
		return nil
	}
	return &kv.Match{Prefix: 7, Key: 3, Value: 3, Tags: []kv.Tag{{Key: uid("grp", "tagk"), Values: [][]byte{uid("g7", "tagv")}}}}
}
