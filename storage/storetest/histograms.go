package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// RunHistograms compares OpenTSDB's histograms of a store with a plain map: while points are written into the same
// rows, flushed and deleted, and through all ends of the process.
func RunHistograms(t *testing.T, c Config) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for seed := range c.Seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					h := histograms{held: map[histogramKey]string{}}
					h.run = run{Config: c, t: t, rng: rand.New(rand.NewPCG(seed, 12)), engine: c.New(t), disk: logtest.New(seed), flags: way.flags, take: way.take}
					h.history()
				})
			}
		})
	}
}

// histograms is one run.
type histograms struct {
	run
	held map[histogramKey]string // their values
}

// histogramKey is where a histogram is: those of a whole second have two cells.
type histogramKey struct {
	series int
	at     int64 // milliseconds
	millis bool
}

func (h *histograms) history() {
	h.start(Ended)
	h.append()
	for range edits {
		switch n := h.rng.IntN(12); {
		case n < 5:
			h.put()
		case n < 7:
			h.append()
		case n < 9:
			h.deleteSome()
		default:
			h.meet(End(h.rng.IntN(3)))
		}
		h.check()
		h.checkNewest()
	}
	h.process.End()
	h.start(Ended)
	h.check()
}

// moment returns a time of one of few rows. One of them has no points.
func (h *histograms) moment() int64 {
	hours := []int64{0, 1, 2, 24 * 9}[h.rng.IntN(4)]
	return begin + hours*3600_000 + h.rng.Int64N(6)*600_000 + []int64{0, 500}[h.rng.IntN(2)]
}

// append writes points into some rows, of all series: at instants of histograms too.
func (h *histograms) append() {
	h.t.Helper()
	var b storage.Batch
	for _, ref := range h.refs {
		b.Add(ref, h.moment(), h.rng.Float64())
	}
	if err := h.take(h.rng, h.process.Store).Append(h.t.Context(), &b); err != nil {
		h.t.Fatal(err)
	}
}

// put writes some histograms, of series too that were deleted.
func (h *histograms) put() {
	h.t.Helper()
	var list []storage.CodedHistogram
	for range 1 + h.rng.IntN(4) {
		key := histogramKey{h.rng.IntN(len(h.refs)), h.moment(), h.rng.IntN(3) == 0}
		key.millis = key.millis || key.at%1000 != 0
		value := fmt.Sprint("histogram ", h.rng.IntN(1000))
		list = append(list, storage.CodedHistogram{Ref: h.refs[key.series], Time: key.at, Millis: key.millis, Value: []byte(value)})
		h.held[key] = value
	}
	if err := h.process.PutHistograms(h.t.Context(), list); err != nil {
		h.t.Fatal(err)
	}
}

// deleteSome deletes a time of a series, or the series.
func (h *histograms) deleteSome() {
	h.t.Helper()
	series := h.rng.IntN(len(h.refs))
	d := storage.Deletion{Refs: h.refs[series : series+1], Start: 0, End: storage.MaxTime}
	if d.Whole = h.rng.IntN(3) == 0; d.Whole {
		d.Start, d.End = 0, 0
	} else {
		d.Start = h.moment()
		d.End = d.Start + h.rng.Int64N(8)*1800_000
	}
	for key := range h.held {
		if key.series == series && (d.Whole || key.at >= d.Start && key.at <= d.End) {
			delete(h.held, key)
		}
	}
	if _, err := h.process.Delete(h.t.Context(), d); err != nil {
		h.t.Fatal(err)
	}
}

// check compares what queries answer: alone, and together with points.
func (h *histograms) check() {
	h.t.Helper()
	want := make([]map[int64]map[string]int, len(h.refs))
	for i := range want {
		want[i] = map[int64]map[string]int{}
	}
	for key, value := range h.held {
		if want[key.series][key.at] == nil {
			want[key.series][key.at] = map[string]int{}
		}
		want[key.series][key.at][value]++
	}
	for _, samples := range []bool{false, true} {
		for i, ref := range h.refs {
			q := storage.Query{Refs: []storage.Ref{ref}, Start: begin, End: begin + 10*24*3600_000, Samples: samples, Histograms: true}
			w := &histogramWorker{map[int64]map[string]int{}}
			if err := h.process.SelectParts(h.t.Context(), q, func() storage.PartWorker { return w }); err != nil {
				h.t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], w.at); diff != "" {
				h.t.Fatalf("histograms of series %d, samples %v: (-want +got)\n%s", i, samples, diff)
			}
		}
	}
}

// checkNewest compares the newest time of each series, of points and of histograms, in the first hours, where they are looked
// for by hours, with that of all that is there.
func (h *histograms) checkNewest() {
	h.t.Helper()
	for i, ref := range h.refs {
		q := storage.Query{Refs: []storage.Ref{ref}, Start: begin, End: begin + 4*3600_000, Samples: true, Histograms: true}
		want := h.newest(q)
		q.Newest = true
		if got := h.newest(q); got != want {
			h.t.Fatalf("the newest of series %d is at %d, want %d", i, got, want)
		}
	}
}

// newest returns the newest time in the answer to a query for one series; 0: there is none.
func (h *histograms) newest(q storage.Query) (at int64) {
	h.t.Helper()
	for p, err := range h.process.Select(h.t.Context(), q) {
		if err != nil {
			h.t.Fatal(err)
		}
		if n := len(p.Times); n > 0 {
			at = max(at, p.Times[n-1])
		}
		if n := len(p.Objects); n > 0 {
			at = max(at, p.Objects[n-1].Time)
		}
	}
	return at
}

// histogramWorker keeps the histograms of a query for one series, which is one part.
type histogramWorker struct{ at map[int64]map[string]int }

// Take implements storage.PartWorker.
func (w *histogramWorker) Take(_ context.Context, p storage.Part) error {
	for _, points := range p.Points {
		for i, o := range points.Objects {
			if i > 0 && o.Time < points.Objects[i-1].Time {
				return fmt.Errorf("%d comes after %d", o.Time, points.Objects[i-1].Time)
			}
			if o.Kind != storage.KindCoded {
				continue
			}
			if w.at[o.Time] == nil {
				w.at[o.Time] = map[string]int{}
			}
			w.at[o.Time][string(o.Data)]++
		}
	}
	return nil
}

// Commit implements storage.PartWorker.
func (*histogramWorker) Commit(context.Context) error { return nil }
