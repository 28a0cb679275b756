package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const staleMarker = 0x7ff0000000000002

// checkWindows compares windows of some time with the points, whether the tables are filled yet or not. It returns
// whether there were any.
func (w *filledWorld) checkWindows(what string) bool {
	w.t.Helper()
	const minute = 60_000
	every := []int64{10 * minute, 30 * minute, 60 * minute, 3 * 60 * minute, 24 * 60 * minute}[w.rng.IntN(5)]
	all := max((w.now.Load()-fillBegin)/every+2, 2)
	from := w.rng.Int64N(all)
	q := storage.WindowQuery{Every: every, Start: fillBegin + from*every, End: fillBegin + (from+1+w.rng.Int64N(all-from))*every}
	if w.rng.IntN(4) == 0 {
		q.Every = 0
		q.Start += w.rng.Int64N(every)
		q.End -= w.rng.Int64N(min(every, q.End-q.Start))
	}
	var of []int
	for n := range w.series {
		if w.rng.IntN(3) > 0 {
			of, q.Refs = append(of, n), append(q.Refs, w.refs[n])
		}
	}
	got, err := w.p.Windows(w.t.Context(), &q)
	if errors.Is(err, storage.ErrNoWindows) {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for k, n := range of {
		if d := cmp.Diff(w.windows(n, &q), joined(got[k], q.Every)); d != "" {
			w.t.Fatalf("%s: windows of %d, every %v from %v to %v, at %v (-want +got):\n%s", what, n, time.Duration(every)*time.Millisecond,
				time.UnixMilli(q.Start).UTC(), time.UnixMilli(q.End).UTC(), time.UnixMilli(w.now.Load()).UTC(), d)
		}
	}
	return true
}

// windows returns what PromQL makes of the points of a series, as text.
func (w *filledWorld) windows(n int, q *storage.WindowQuery) map[string]string {
	of := map[int64]*storage.WindowValues{}
	for _, at := range slices.Sorted(maps.Keys(w.points[n])) {
		v := w.points[n][at].v
		if at <= q.Start || at > q.End || math.Float64bits(v) == staleMarker {
			continue
		}
		begin := (at - 1) - (at-1)%max(q.Every, 1)
		if q.Every == 0 {
			begin = 0
		}
		if of[begin] == nil {
			of[begin] = &storage.WindowValues{}
		}
		of[begin].Add(v)
	}
	return texts(of)
}

// joined joins windows to longer ones.
func joined(list []storage.Window, every int64) map[string]string {
	of := map[int64]*storage.WindowValues{}
	for i := range list {
		begin := int64(list[i].Begin) * 1000
		if every > 0 {
			begin -= begin % every
		} else {
			begin = 0
		}
		if of[begin] == nil {
			of[begin] = &storage.WindowValues{}
		}
		of[begin].Join(&list[i].WindowValues)
	}
	return texts(of)
}

func texts(of map[int64]*storage.WindowValues) map[string]string {
	list := map[string]string{}
	for begin, w := range of {
		list[time.UnixMilli(begin).UTC().Format("02T15:04")] = fmt.Sprintf("%d, %x to %x", w.Count, math.Float64bits(w.Min), math.Float64bits(w.Max))
	}
	return list
}

// TestWindowsBesideHistograms: where a series has histograms, its points are read.
func TestWindowsBesideHistograms(t *testing.T) {
	w := newFilledWorld(t, 3)
	w.db = kv.NewMem(rollupTables()...)
	w.start()
	const hour = 3600_000
	w.advance(30 * hour)
	w.write(fillBegin, w.now.Load(), 200)
	w.check("filled")
	q := storage.WindowQuery{Refs: w.refs[:1], Start: fillBegin, End: fillBegin + 24*hour, Every: hour}
	if _, err := w.p.Windows(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	var b storage.Batch
	b.AddObject(w.refs[0], fillBegin+5*hour, storage.KindHistogram, []byte{})
	if err := w.p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"noted", "filled"} {
		if _, err := w.p.Windows(t.Context(), &q); !errors.Is(err, storage.ErrNoWindows) {
			t.Errorf("%s: %v", what, err)
		}
		if err := w.p.FillRollups(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	q.Refs = w.refs[1:2]
	if _, err := w.p.Windows(t.Context(), &q); err != nil {
		t.Errorf("of another series: %v", err)
	}
	w.p.End()
}
