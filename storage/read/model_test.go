package read_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// engines returns the engines for a test, each with a function that moves its rows to where a long
// run would have them.
func engines(t *testing.T) map[string]func() (kv.KV, func()) {
	return map[string]func() (kv.KV, func()){
		"mem": func() (kv.KV, func()) { return kv.NewMem(storetest.Tables()...), func() {} },
		"pebble": func() (kv.KV, func()) {
			e, err := pebble.Open(pebble.Options{InMemory: true, Tables: storetest.Tables()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
			return e, func() {
				if err := e.Compact(t.Context(), "tsdb"); err != nil {
					t.Error(err)
				}
			}
		},
	}
}

// TestSelectAgainstModel reads any of many series over any range, in any order, by every plan,
// while rows are in the head or in the table, in one cell or in many, and compares with a plain
// list.
func TestSelectAgainstModel(t *testing.T) {
	for name, open := range engines(t) {
		for seed := range scale.Of[uint64](t, "random stores on "+name, 6, 6, 60) {
			t.Run(fmt.Sprint(name, " seed ", seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 11))
				db, settle := open()
				disk := logtest.New(seed)
				change := func(o *store.Options) {
					o.Layout.SaltWidth = int(seed % 2)
					o.Layout.SaltBuckets = 3
					o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
				}
				var list []storage.Series
				for i := range 150 {
					list = append(list, storetest.Series(fmt.Sprint("m", i%3%2), "grp", fmt.Sprint(i%7), "host", fmt.Sprint("h", i)))
				}
				s := storetest.StartBuffered(t, db, disk, change)
				refs := storetest.Resolve(t, s.Store, list...)
				m := storetest.NewModel(len(refs))
				for range 12 {
					writeSome(t, r, m, s.Store, refs)
					checkSome(t, r, m, s.Store, refs)
					if r.IntN(3) > 0 {
						continue
					}
					s.Stop()
					if r.IntN(2) == 0 { // otherwise they are in the log
						if err := s.Close(t.Context()); err != nil {
							t.Fatal(err)
						}
						settle()
					} else {
						disk = disk.Kill(r.Uint64())
					}
					s = storetest.StartBuffered(t, db, disk, change)
					refs = storetest.Resolve(t, s.Store, list...)
					checkSome(t, r, m, s.Store, refs)
				}
				m.Check(t, s.Store, refs, 0, storage.MaxTime) // in many groups
			})
		}
	}
}

// writeSome appends a step of all series, as a collector does, or some data at any time.
func writeSome(t *testing.T, r *rand.Rand, m *storetest.Model, s *store.Store, refs []storage.Ref) {
	t.Helper()
	var b storage.Batch
	if r.IntN(2) == 0 {
		for range 200 {
			m.AddRandom(r, &b, refs, 3*7200)
		}
	} else {
		first := t0 + r.Int64N(2*3600)*1000
		for step := range int64(20) {
			for n, ref := range refs {
				v := float64(n) + float64(step*step)/10
				b.Add(ref, first+step*15_000, v)
				m.Put(n, first+step*15_000, storetest.Sample{Bits: math.Float64bits(v)})
			}
		}
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// checkSome reads some of the series over some time.
func checkSome(t *testing.T, r *rand.Rand, m *storetest.Model, s *store.Store, refs []storage.Ref) {
	t.Helper()
	for _, n := range []int{1, 20, len(refs) / 2} {
		some := r.Perm(len(refs))[:n]
		of := make([]storage.Ref, n)
		for i, at := range some {
			of[i] = refs[at]
		}
		start := t0 + r.Int64N(3*3600_000)
		end := start + []int64{0, 60_000, 3600_000, 3 * 3600_000}[r.IntN(4)]
		m.Of(some).Check(t, s, of, start, end)
	}
}

// A series that is requested twice is returned twice.
func TestSelectTwice(t *testing.T) {
	for name, open := range engines(t) {
		db, _ := open()
		s := storetest.Open(t, db)
		refs := hosts(t, s, 30, 2)
		for _, ask := range [][]storage.Ref{{refs[3], refs[3]}, append(refs, refs...)} {
			q := storage.Query{Refs: ask, Start: t0, End: t0 + 7200_000, Samples: true}
			i := 0
			for p, err := range s.Select(t.Context(), q) {
				if err != nil || p.Ref != ask[i] || len(p.Times) != 2 {
					t.Fatalf("%s: answer %d is %v (%v), want 2 points of series %d", name, i, p, err, ask[i])
				}
				i++
			}
			if i != len(ask) {
				t.Errorf("%s: %d answers, want %d", name, i, len(ask))
			}
		}
	}
}

// The reported plan is the cheapest. As a larger share of a metric is requested, a range replaces
// rows by key.
func TestPlan(t *testing.T) {
	for name, open := range engines(t) {
		db, _ := open()
		s := storetest.Open(t, db)
		refs := hosts(t, s, 2000, 1)
		for _, c := range []struct {
			series int
			end    int64
			want   string
		}{
			{1, t0 + 3600_000 - 1, "rows"},
			{4, t0 + 3600_000 - 1, "rows"},
			{2000, t0 + 3600_000 - 1, "near"},
			{2000, t0 + 3*3600_000 - 1, "near"},
		} {
			plans, err := s.Plan(storage.Query{Refs: refs[:c.series], Start: t0, End: c.end})
			if err != nil {
				t.Fatal(err)
			}
			series := 0
			for _, p := range plans {
				series += p.Series
				if p.Kind != c.want {
					t.Errorf("%s: %d series until %d: %+v, want %s", name, c.series, c.end, p, c.want)
				}
				for kind, cost := range p.Costs {
					if cost < p.Costs[p.Kind] {
						t.Errorf("%s: %s costs %v, and %s was chosen, which costs %v", name, kind, cost, p.Kind, p.Costs[p.Kind])
					}
				}
			}
			if series != c.series {
				t.Errorf("%s: plans for %d series, want %d", name, series, c.series)
			}
		}
	}
}
