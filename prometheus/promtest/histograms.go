package promtest

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

func IntHistograms() map[string]*histogram.Histogram {
	return map[string]*histogram.Histogram{
		"empty": {},
		"exponential": {
			CounterResetHint: histogram.NotCounterReset, Schema: 3, ZeroThreshold: 1e-128, ZeroCount: 2, Count: 19, Sum: 18.4,
			PositiveSpans: []histogram.Span{{Offset: -3, Length: 2}, {Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 1, -1, 0},
			NegativeSpans: []histogram.Span{{Offset: 5, Length: 3}}, NegativeBuckets: []int64{6, -3, 0},
		},
		"custom buckets": {
			Schema: histogram.CustomBucketsSchema, Count: 5, Sum: -7,
			PositiveSpans: []histogram.Span{{Length: 2}, {Offset: 1, Length: 1}}, PositiveBuckets: []int64{2, -1, 1},
			CustomValues: []float64{0.25, 1, 5},
		},
		"stale":         {Sum: math.Float64frombits(value.StaleNaN)},
		"sum of -0":     {Sum: math.Copysign(0, -1), ZeroThreshold: math.Copysign(0, -1)},
		"gauge, narrow": {CounterResetHint: histogram.GaugeType, Schema: -4, Count: math.MaxUint64, ZeroCount: math.MaxUint64},
		"empty span":    {PositiveSpans: []histogram.Span{{Offset: math.MinInt32}, {Offset: math.MaxInt32}}},
	}
}

func FloatHistograms() map[string]*histogram.FloatHistogram {
	return map[string]*histogram.FloatHistogram{
		"empty": {},
		"exponential": {
			CounterResetHint: histogram.CounterReset, Schema: 8, ZeroThreshold: 0.001, ZeroCount: 0.5, Count: 4.25, Sum: math.Inf(1),
			PositiveSpans: []histogram.Span{{Offset: 7, Length: 2}}, PositiveBuckets: []float64{1.5, 2.25},
			NegativeSpans: []histogram.Span{{Length: 1}}, NegativeBuckets: []float64{0},
		},
		"custom buckets": {
			Schema: histogram.CustomBucketsSchema, Count: 3, PositiveSpans: []histogram.Span{{Length: 1}},
			PositiveBuckets: []float64{3}, CustomValues: []float64{math.Inf(-1), 0},
		},
		"stale":  {Sum: math.Float64frombits(value.StaleNaN)},
		"zeroes": {Count: math.Copysign(0, -1), ZeroCount: math.Copysign(0, -1), PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{math.Copysign(0, -1)}},
	}
}
