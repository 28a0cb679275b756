package rangefn

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// quantileOverTime has the quantile as its argument.
func quantileOverTime(s *span) (float64, bool) {
	if q := s.args[0]; q >= 0 && q <= 1 && s.ordered.Plain {
		return floats.QuantileOfSorted(q, s.ordered.MoveTo(s.series, s.first, s.first+len(s.values))), true
	}
	s.scratch = append(s.scratch[:0], s.values...)
	return floats.Quantile(s.args[0], s.scratch), true
}

// medianDeviation is the median distance from the median.
func medianDeviation(s *span) (float64, bool) {
	if slices.ContainsFunc(s.values, math.IsNaN) {
		return math.NaN(), true
	}
	s.scratch = append(s.scratch[:0], s.values...)
	median := floats.Quantile(0.5, s.scratch)
	for i, v := range s.scratch {
		s.scratch[i] = math.Abs(v - median)
	}
	return floats.Quantile(0.5, s.scratch), true
}

func timeOfMax(s *span) (float64, bool) {
	most, at := s.values[0], s.times[0]
	for i, v := range s.values {
		if v >= most || math.IsNaN(most) {
			most, at = v, s.times[i]
		}
	}
	return float64(at) / 1000, true
}

func timeOfMin(s *span) (float64, bool) {
	least, at := s.values[0], s.times[0]
	for i, v := range s.values {
		if v <= least || math.IsNaN(least) {
			least, at = v, s.times[i]
		}
	}
	return float64(at) / 1000, true
}
