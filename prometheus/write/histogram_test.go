package write

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// spans returns n spans of one bucket each.
func spans(n int, offset int32, length uint32) []histogram.Span {
	all := make([]histogram.Span, n)
	for i := range all {
		all[i] = histogram.Span{Offset: offset, Length: length}
	}
	return all
}

// A histogram that is too large is refused by name, in both versions, and the rest of the request
// is stored.
func TestHistogramLimits(t *testing.T) {
	many := make([]float64, 1_000_000)
	deltas := make([]int64, 1_000_000)
	for name, c := range map[string]struct {
		ints   *histogram.Histogram
		floats *histogram.FloatHistogram
		want   string // part of the answer; empty: stored
	}{
		"a million deltas":     {ints: &histogram.Histogram{PositiveSpans: spans(1, 0, 1_000_000), PositiveBuckets: deltas}, want: "more than 10000 buckets"},
		"a million counts":     {floats: &histogram.FloatHistogram{NegativeSpans: spans(1, 0, 1_000_000), NegativeBuckets: many}, want: "more than 10000 buckets"},
		"a million spans":      {ints: &histogram.Histogram{PositiveSpans: spans(1_000_000, 0, 0)}, want: "more than 10000 spans"},
		"a million neg. spans": {floats: &histogram.FloatHistogram{NegativeSpans: spans(1_000_000, 1, 0)}, want: "more than 10000 spans"},
		"a million bounds":     {ints: &histogram.Histogram{Schema: histogram.CustomBucketsSchema, CustomValues: many}, want: "more than 10000 buckets"},
		"far away":             {ints: &histogram.Histogram{PositiveSpans: spans(2, math.MaxInt32, 1), PositiveBuckets: []int64{1, 0}, Count: 2}, want: "a bucket at place"},
		"far below":            {floats: &histogram.FloatHistogram{NegativeSpans: spans(1, math.MinInt32, 1), NegativeBuckets: []float64{1}, Count: 1}, want: "a bucket at place"},
		"endless span":         {ints: &histogram.Histogram{PositiveSpans: spans(1, 0, math.MaxUint32)}, want: "refused"},
		"as large as may be": {floats: &histogram.FloatHistogram{
			Count: 0, PositiveSpans: spans(maxHistogramSpans, 1, 1), PositiveBuckets: make([]float64, maxHistogramBuckets),
		}},
	} {
		for _, v := range []version{version1, version2} {
			d := newTestDoor(nil)
			got := describe(t, d.send(v, histogramMessage(t, v, c.ints, c.floats)))
			switch {
			case c.want == "" && !strings.HasPrefix(got, "20"):
				t.Errorf("%s, version %v: %.300s", name, v, got)
			case c.want != "" && (!strings.HasPrefix(got, "400") || !strings.Contains(got, c.want) || !strings.Contains(got, "big") || !strings.Contains(got, "the rest is stored")):
				t.Errorf("%s, version %v: %.300s, want %q", name, v, got, c.want)
			}
			if !strings.Contains(d.store.String(), "small") {
				t.Errorf("%s, version %v: the other series is not stored: %.300s", name, v, d.store)
			}
		}
	}
}

// histogramMessage returns a request of the series big, which is a histogram, and small, a sample.
func histogramMessage(t testing.TB, v version, ints *histogram.Histogram, floats *histogram.FloatHistogram) []byte {
	t.Helper()
	if v == version1 {
		var h prompb.Histogram
		if ints != nil {
			h = prompb.FromIntHistogram(1000, ints)
		} else {
			h = prompb.FromFloatHistogram(1000, floats)
		}
		return promtest.Marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
			{Labels: []prompb.Label{{Name: "__name__", Value: "big"}}, Histograms: []prompb.Histogram{h}},
			{Labels: []prompb.Label{{Name: "__name__", Value: "small"}}, Samples: []prompb.Sample{{Timestamp: 1000, Value: 1}}},
		}})
	}
	var h writev2.Histogram
	if ints != nil {
		h = writev2.FromIntHistogram(0, 1000, ints)
	} else {
		h = writev2.FromFloatHistogram(0, 1000, floats)
	}
	return promtest.Marshal(t, &writev2.Request{Symbols: []string{"", "__name__", "big", "small"}, Timeseries: []writev2.TimeSeries{
		{LabelsRefs: []uint32{1, 2}, Histograms: []writev2.Histogram{h}},
		{LabelsRefs: []uint32{1, 3}, Samples: []writev2.Sample{{Timestamp: 1000, Value: 1}}},
	}})
}
