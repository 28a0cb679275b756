package histogramcodec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

func bucket(lower, upper float32, count int64) schema.HistogramBucket {
	return schema.HistogramBucket{Lower: lower, Upper: upper, Count: count}
}

// TestFromOpenTSDB shows bounds and counts of histograms.
func TestFromOpenTSDB(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name         string
		buckets      []schema.HistogramBucket
		below, above int64
		bounds       []float64 // nil: there is none
		counts       []int64
		sum          float64
	}{
		{"two", []schema.HistogramBucket{bucket(0, 1.75, 12), bucket(1.75, 3.5, 16)}, 2, 1, []float64{0, 1.75, 3.5}, []int64{2, 12, 16, 1}, 12*0.875 + 16*2.625 + 3.5},
		{"a gap", []schema.HistogramBucket{bucket(0, 1, 12), bucket(2, 3, 16)}, 0, 0, []float64{0, 1, 2, 3}, []int64{0, 12, 0, 16, 0}, 6 + 40},
		{"below 0", []schema.HistogramBucket{bucket(-2, -1, 1)}, 3, 4, []float64{-2, -1}, []int64{3, 1, 4}, -6 - 1.5 - 4},
		{"from -Inf", []schema.HistogramBucket{bucket(-inf, 0, 5), bucket(0, 1, 6)}, 0, 7, []float64{0, 1}, []int64{5, 6, 7}, 3 + 7},
		{"to +Inf", []schema.HistogramBucket{bucket(0, 1, 5), bucket(1, inf, 6)}, 0, 7, []float64{0, 1}, []int64{0, 5, 13}, 2.5 + 13},
		{"all in one", []schema.HistogramBucket{bucket(-inf, inf, 5)}, 0, 0, []float64{}, []int64{5}, 0},
		{"below -Inf", []schema.HistogramBucket{bucket(-inf, 0, 5)}, 1, 0, nil, nil, 0},
		{"none", nil, 1, 1, nil, nil, 0},
		{"they overlap", []schema.HistogramBucket{bucket(0, 2, 1), bucket(1, 3, 1)}, 0, 0, nil, nil, 0},
		{"empty", []schema.HistogramBucket{bucket(1, 1, 1)}, 0, 0, nil, nil, 0},
		{"backwards", []schema.HistogramBucket{bucket(2, 1, 1)}, 0, 0, nil, nil, 0},
		{"not a number", []schema.HistogramBucket{bucket(0, nan, 1)}, 0, 0, nil, nil, 0},
		{"not a number first", []schema.HistogramBucket{bucket(nan, 1, 1)}, 0, 0, nil, nil, 0},
		{"a count below 0", []schema.HistogramBucket{bucket(0, 1, -1)}, 0, 0, nil, nil, 0},
		{"below, below 0", []schema.HistogramBucket{bucket(0, 1, 1)}, -1, 0, nil, nil, 0},
		{"above, below 0", []schema.HistogramBucket{bucket(0, 1, 1)}, 0, -1, nil, nil, 0},
		{"too many", []schema.HistogramBucket{bucket(0, 1, math.MaxInt64), bucket(1, 2, 1)}, 0, 0, nil, nil, 0},
		{"too many up to +Inf", []schema.HistogramBucket{bucket(0, inf, math.MaxInt64)}, 0, 1, nil, nil, 0},
	} {
		h, ok := FromOpenTSDB(&schema.SimpleHistogram{Buckets: c.buckets, Underflow: c.below, Overflow: c.above})
		if ok != (c.bounds != nil) {
			t.Errorf("%s: %v", c.name, h)
			continue
		}
		if !ok {
			continue
		}
		var counts []int64
		sum, total := int64(0), int64(0)
		for _, d := range h.PositiveBuckets {
			sum += d
			total += sum
			counts = append(counts, sum)
		}
		if diff := cmp.Diff(c.bounds, h.CustomValues) + cmp.Diff(c.counts, counts); diff != "" || h.Count != uint64(total) || h.Sum != c.sum {
			t.Errorf("%s: %v\n%s", c.name, h, diff)
		}
		if err := h.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRandomFromOpenTSDB: what is converted is valid, survives its encoding, and has all counts.
func TestRandomFromOpenTSDB(t *testing.T) {
	r, converted := rand.New(rand.NewPCG(8, 9)), 0
	for range 20_000 {
		h := schema.SimpleHistogram{Underflow: r.Int64N(3) * r.Int64N(5), Overflow: r.Int64N(5)}
		at := float32(r.IntN(8) - 4)
		for range r.IntN(5) {
			upper := at + float32(r.IntN(9)-1)
			switch r.IntN(20) {
			case 0:
				upper = float32(math.Inf(1))
			case 1:
				at = float32(math.Inf(-1))
			}
			h.Buckets = append(h.Buckets, bucket(at, upper, r.Int64N(100)))
			at = upper + float32(r.IntN(2))
		}
		h.Normalize()
		native, ok := FromOpenTSDB(&h)
		if !ok {
			continue
		}
		converted++
		want := uint64(h.Underflow + h.Overflow)
		for _, b := range h.Buckets {
			want += uint64(b.Count)
		}
		if err := native.Validate(); err != nil || native.Count != want {
			t.Fatalf("%+v: %v, %v, want %d", h, native, err, want)
		}
		if q, infos := promql.HistogramQuantile(0.5, native.ToFloat(nil), "", posrange.PositionRange{}); want > 0 && len(native.CustomValues) > 0 && math.IsInf(q, 0) || len(infos) > 0 || math.IsNaN(native.Sum) {
			t.Fatalf("%v: the median is %v, %v", native, q, infos)
		}
		again, _, err := DecodeHistogram(EncodeHistogram(native))
		if err != nil || !again.Equals(native) || again.Schema != histogram.CustomBucketsSchema {
			t.Fatalf("%v becomes %v, %v", native, again, err)
		}
	}
	if converted < 1000 {
		t.Errorf("only %d converted", converted)
	}
}
