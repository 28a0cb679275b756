package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// RunSpans compares Find and the lists of names with the active days of a plain list, for each way of
// a point and for each end of the process. The store has no other writers. Find returns the series
// with points on the requested days, or on days around them, and no others. A deletion removes days
// at both ends.
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
	// spanSeries is how many series there may be, spanDays over how many days their points lie.
	spanSeries, spanDays = 40, 12
)

// hull is the first and the last day on which a series has points.
type hull struct{ first, last int64 }

func noHull() hull { return hull{first: 1 << 16, last: -1} }

func (h *hull) add(day int64) { h.first, h.last = min(h.first, day), max(h.last, day) }

func (h hull) overlaps(first, last int64) bool { return h.first <= last && h.last >= first }

// spanModel is what is known of a series.
type spanModel struct {
	times map[int64]bool // of its points
	may   hull           // days in which it may be found
}

// must reports whether it must be found on some days.
func (m *spanModel) must(first, last int64) bool {
	for time := range m.times {
		if time/day >= first && time/day <= last {
			return true
		}
	}
	return false
}

// delete deletes points.
func (m *spanModel) delete(start, end int64) {
	maps.DeleteFunc(m.times, func(time int64, _ bool) bool { return time >= start && time <= end })
	whole := func(d int64) bool { return start <= d*day && end >= (d+1)*day-1 }
	for m.may.first <= m.may.last && whole(m.may.first) {
		m.may.first++
	}
	for m.may.first <= m.may.last && whole(m.may.last) {
		m.may.last--
	}
	if m.may.first > m.may.last {
		m.may = noHull()
	}
}

// spanRun is one run: series come one after the other.
type spanRun struct {
	*run
	models []*spanModel
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
			r.meet(End(n))
			r.check()
		case n < 6:
			r.check()
		case n < 9:
			r.delete()
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
	if len(r.models) < spanSeries && r.rng.IntN(2) == 0 {
		r.models = append(r.models, &spanModel{times: map[int64]bool{}, may: noHull()})
	}
	refs := r.resolve()
	if len(refs) == 0 {
		return
	}
	var b storage.Batch
	for range 1 + r.rng.IntN(4) {
		n := r.rng.IntN(len(refs))
		time := int64(begin) + r.rng.Int64N(spanDays*day)
		if r.rng.IntN(8) == 0 {
			b.AddObject(refs[n], time, storage.KindExemplar, []byte("e"))
		} else {
			b.Add(refs[n], time, 1)
		}
		r.models[n].times[time] = true
		r.models[n].may.add(time / day)
	}
	if err := r.take(r.rng, r.process.Store).Append(r.t.Context(), &b); err != nil {
		r.t.Fatal(err)
	}
}

func (r *spanRun) resolve() []storage.Ref {
	var all []storage.Series
	for n := range r.models {
		all = append(all, spanOf(n))
	}
	return r.process.Resolve(all)
}

// delete deletes some days of some series, or all.
func (r *spanRun) delete() {
	r.t.Helper()
	d := storage.Deletion{Start: (dayZero + r.rng.Int64N(spanDays)) * day}
	d.End = d.Start + (1+r.rng.Int64N(spanDays/2))*day - 1 - r.rng.Int64N(2)*r.rng.Int64N(day)
	switch r.rng.IntN(4) {
	case 0:
		d.Start, d.End, d.Whole = 0, storage.MaxTime, true
	case 1:
		d.Start = 0
	}
	for n, ref := range r.resolve() {
		if r.rng.IntN(3) == 0 {
			d.Refs = append(d.Refs, ref)
			r.models[n].delete(d.Start, d.End)
		}
	}
	if _, err := r.process.Delete(r.t.Context(), d); err != nil {
		r.t.Fatal(err)
	}
}

// expected is what has to be found, and what may be.
type expected struct{ must, may map[string]bool }

func newExpected() expected { return expected{map[string]bool{}, map[string]bool{}} }

func (e expected) add(name string, must bool) {
	e.may[name] = true
	if must {
		e.must[name] = true
	}
}

// check asks for some days.
func (r *spanRun) check() {
	r.t.Helper()
	first := int64(dayZero) - 1 + r.rng.Int64N(spanDays+2)
	last := first + r.rng.Int64N(3)
	start, end := first*day+r.rng.Int64N(day/2), last*day+day/2+r.rng.Int64N(day/2)
	series, metrics, values := newExpected(), newExpected(), newExpected()
	for n, m := range r.models {
		if !m.may.overlaps(first, last) {
			continue
		}
		s, must := spanOf(n), m.must(first, last)
		series.add(s.String(), must)
		metrics.add(s.Metric, must)
		if s.Tags[0].Key == "k1" {
			values.add(s.Tags[0].Value, must)
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
	if has := slices.Contains(got, "k1"); has && len(values.may) == 0 || !has && len(values.must) > 0 {
		r.t.Fatalf("TagKeys(%d, %d) = %q, values of k1 are %v", start, end, got, values)
	}
}

func (r *spanRun) same(what string, start, end int64, got []string, want expected) {
	r.t.Helper()
	for _, name := range got {
		if !want.may[name] {
			r.t.Fatalf("%s(%d, %d) finds %s, which has no points there", what, start, end, name)
		}
	}
	for name := range want.must {
		if !slices.Contains(got, name) {
			r.t.Fatalf("%s(%d, %d) does not find %s", what, start, end, name)
		}
	}
}
