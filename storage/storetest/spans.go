package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// RunSpans tests Find, and the lists of names, of a store that is the only writer to its tables. It
// compares with the days of a plain list, by each way of a point and through all fates: Find
// returns the series that have points on a requested day, or on days around it, and no others.
func RunSpans(t *testing.T, c Config) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for seed := range c.Seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					r := run{Config: c, t: t, rng: rand.New(rand.NewPCG(seed, 11)), engine: c.New(t), disk: logtest.New(seed), flags: way.flags, take: way.take}
					(&spanRun{run: &r}).all()
				})
			}
		})
	}
}

const (
	day     = 24 * 3600_000
	dayZero = begin / day
	// spanSeries is the greatest number of series, spanDays the number of days with points.
	spanSeries, spanDays = 40, 12
)

// hull is the first and the last day on which a series has points.
type hull struct{ first, last int64 }

// spanRun is one run, in which new series keep coming.
type spanRun struct {
	*run
	hulls []hull
}

func spanOf(n int) storage.Series {
	return storage.Series{Metric: fmt.Sprint("m", n%3), Tags: []storage.Tag{{Key: fmt.Sprint("k", n%2), Value: fmt.Sprint(n)}}}
}

func (r *spanRun) all() {
	r.start(Ended)
	for range 40 {
		r.append()
		switch n := r.rng.IntN(12); {
		case n < 3:
			r.meet(Fate(n))
			r.check()
		case n < 6:
			r.check()
		}
	}
	r.process.End()
	r.start(Ended)
	r.check()
	r.process.End()
}

// append appends points of old and new series.
func (r *spanRun) append() {
	if len(r.hulls) < spanSeries && r.rng.IntN(2) == 0 {
		r.hulls = append(r.hulls, hull{first: 1 << 16, last: -1})
	}
	var all []storage.Series
	for n := range r.hulls {
		all = append(all, spanOf(n))
	}
	if len(all) == 0 {
		return
	}
	refs := r.process.Resolve(all)
	var b storage.Batch
	for range 1 + r.rng.IntN(4) {
		n := r.rng.IntN(len(refs))
		time := int64(begin) + r.rng.Int64N(spanDays*day)
		if r.rng.IntN(8) == 0 {
			b.AddObject(refs[n], time, storage.KindExemplar, []byte("e"))
		} else {
			b.Add(refs[n], time, 1)
		}
		h := &r.hulls[n]
		h.first, h.last = min(h.first, time/day), max(h.last, time/day)
	}
	if err := r.take(r.rng, r.process.Store).Append(r.t.Context(), &b); err != nil {
		r.t.Fatal(err)
	}
}

// check queries some days.
func (r *spanRun) check() {
	r.t.Helper()
	first := int64(dayZero) - 1 + r.rng.Int64N(spanDays+2)
	last := first + r.rng.Int64N(3)
	start, end := first*day+r.rng.Int64N(day/2), last*day+day/2+r.rng.Int64N(day/2)
	series, metrics, values := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for n, h := range r.hulls {
		if s := spanOf(n); h.first <= last && h.last >= first {
			series[s.String()], metrics[s.Metric] = true, true
			if s.Tags[0].Key == "k1" {
				values[s.Tags[0].Value] = true
			}
		}
	}
	found, err := r.process.Find(r.t.Context(), nil, start, end, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		if len(f.Tags) == 1 && f.Tags[0].Key != "host" { // of the list that every start resolves
			got = append(got, f.String())
		}
	}
	r.same("Find", start, end, got, series)
	got, err = r.process.Metrics(r.t.Context(), start, end)
	if err != nil {
		r.t.Fatal(err)
	}
	r.same("Metrics", start, end, got, metrics)
	got, err = r.process.TagValues(r.t.Context(), "k1", start, end)
	if err != nil {
		r.t.Fatal(err)
	}
	r.same("TagValues", start, end, got, values)
	got, err = r.process.TagKeys(r.t.Context(), start, end)
	if err != nil {
		r.t.Fatal(err)
	}
	if slices.Contains(got, "k1") != (len(values) > 0) {
		r.t.Fatalf("TagKeys(%d, %d) = %q, values of k1 are %v", start, end, got, values)
	}
}

func (r *spanRun) same(what string, start, end int64, got []string, want map[string]bool) {
	r.t.Helper()
	var list []string
	for name := range want {
		list = append(list, name)
	}
	slices.Sort(list)
	slices.Sort(got)
	if !slices.Equal(got, list) {
		r.t.Fatalf("%s(%d, %d):\n%s\nwant\n%s", what, start, end, strings.Join(got, " "), strings.Join(list, " "))
	}
}
