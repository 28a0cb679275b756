package aggregate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// counts are those of a histogram by its bounds, with what is below and above.
type counts map[[2]float32]int64

var below, above = [2]float32{-9, -9}, [2]float32{9, 9}

func countsOf(h schema.SimpleHistogram) counts {
	c := counts{below: h.Underflow, above: h.Overflow}
	for _, b := range h.Buckets {
		c[[2]float32{b.Lower, b.Upper}] = b.Count
	}
	return c
}

// randomHistograms returns some in the order of time; now and then two have one.
func randomHistograms(r *rand.Rand) (all Histograms) {
	at := r.Int64N(5)
	for range r.IntN(20) {
		h := schema.SimpleHistogram{Underflow: r.Int64N(3), Overflow: r.Int64N(3)}
		for range r.IntN(4) {
			lower := float32(r.IntN(3))
			h.Buckets = append(h.Buckets, schema.HistogramBucket{Lower: lower, Upper: lower + 1 + float32(r.IntN(2)), Count: r.Int64N(9)})
		}
		h.Normalize()
		all.Add(at, h)
		at += int64(r.IntN(4))
	}
	return all
}

// TestSumsOfHistograms compares with sums by maps. What is given stays as it is.
func TestSumsOfHistograms(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for range 2000 {
		members := make([]Histograms, 1+r.IntN(4))
		type place struct {
			at  int64
			nth int
		}
		want := map[place]counts{}
		var before []counts
		for i := range members {
			members[i] = randomHistograms(r)
			nth := map[int64]int{}
			for n, at := range members[i].Times {
				p := place{at, nth[at]}
				nth[at]++
				before = append(before, countsOf(members[i].Values[n]))
				if want[p] == nil {
					want[p] = counts{}
				}
				for bounds, count := range countsOf(members[i].Values[n]) {
					want[p][bounds] += count
				}
			}
		}
		plan := &Plan{Range: Range{ScanEnd: 1000}}
		got, err := plan.SumHistograms(members, func() error { return nil })
		if err != nil || got.Len() != len(want) || !slices.IsSorted(got.Times) {
			t.Fatalf("%d sums, %v, want %d in order", got.Len(), err, len(want))
		}
		nth := map[int64]int{}
		for i, at := range got.Times {
			if diff := cmp.Diff(want[place{at, nth[at]}], countsOf(got.Values[i])); diff != "" {
				t.Fatalf("at %d: (-want +got)\n%s", at, diff)
			}
			nth[at]++
		}
		var after []counts
		for _, m := range members {
			for _, h := range m.Values {
				after = append(after, countsOf(h))
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("the members changed:\n%s", diff)
		}
	}
}

// TestIntervalsOfHistograms: every histogram from the first whole interval on is in that of its time.
func TestIntervalsOfHistograms(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for range 1000 {
		all := randomHistograms(r)
		interval := 1 + r.Int64N(7)
		scan := r.Int64N(10)
		plan := &Plan{Range: Range{ScanStart: scan, Start: scan, End: 1000, ScanEnd: 1000}, Downsampling: &Downsampling{Interval: interval, text: "1ms"}}
		want := map[int64]counts{}
		for i, at := range all.Times {
			if at < (scan+interval-1)/interval*interval {
				continue
			}
			begin := at - at%interval
			if want[begin] == nil {
				want[begin] = counts{}
			}
			for bounds, count := range countsOf(all.Values[i]) {
				want[begin][bounds] += count
			}
		}
		got, err := plan.HistogramsOf(all)
		if err != nil {
			t.Fatal(err)
		}
		have := map[int64]counts{}
		for i, at := range got.Times {
			have[at] = countsOf(got.Values[i])
		}
		if diff := cmp.Diff(want, have); diff != "" || !slices.Equal(slices.Sorted(maps.Keys(want)), got.Times) {
			t.Fatalf("intervals of %d from %d: (-want +got)\n%s", interval, scan, diff)
		}
	}
}
