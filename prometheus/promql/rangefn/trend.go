package rangefn

import (
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// deriv returns the slope of a line through the samples.
func deriv(s *span) (float64, bool) {
	if len(s.values) < 2 {
		return 0, false
	}
	slope, _ := regression(s, s.times[0])
	return slope, true
}

// predictLinear returns where that line is so many seconds after the step.
func predictLinear(s *span) (float64, bool) {
	if len(s.values) < 2 {
		return 0, false
	}
	slope, intercept := regression(s, s.at)
	return slope*s.args[0] + intercept, true
}

// regression fits a line to the samples by least squares. The intercept is its value at that time.
func regression(s *span, at int64) (slope, intercept float64) {
	if first, constant := s.values[0], isConstant(s.values); constant {
		if math.IsInf(first, 0) {
			return math.NaN(), math.NaN()
		}
		return 0, first
	}
	x, x2 := s.timeSums(at)
	y, xy := s.valueSums()
	return leastSquares(x, x2, y, xy, len(s.values))
}

// leastSquares returns the line through n samples of which these are the sums.
func leastSquares(x, x2, y, xy floats.Sum, samples int) (slope, intercept float64) {
	n := float64(samples)
	sumX, sumY := x.Value+x.Rest, y.Value+y.Rest
	sumXY, sumX2 := xy.Value+xy.Rest, x2.Value+x2.Rest
	covariance := sumXY - sumX*sumY/n
	variance := sumX2 - sumX*sumX/n
	slope = covariance / variance
	intercept = sumY/n - slope*sumX/n
	return slope, intercept
}

func isConstant(values []float64) bool {
	for _, v := range values[1:] {
		if v != values[0] {
			return false
		}
	}
	return true
}

// timeSums returns the sums of the distances from a time, and of their squares. The distances are in
// scratch afterwards. Samples at uniform distances often have those of the step or the series before.
func (s *span) timeSums(at int64) (x, x2 floats.Sum) {
	p := pattern{first: s.times[0] - at, last: s.times[len(s.times)-1] - at, samples: len(s.times)}
	if s.regular && p == s.pattern {
		return s.x, s.x2
	}
	s.scratch = s.scratch[:0]
	for i := range s.times {
		t := float64(s.times[i]-at) / 1e3
		s.scratch = append(s.scratch, t)
		x.Value, x.Rest = floats.Add(x.Value, x.Rest, t)
		x2.Value, x2.Rest = floats.Add(x2.Value, x2.Rest, float64(t*t))
	}
	if s.pattern, s.x, s.x2 = p, x, x2; !s.regular {
		s.pattern = pattern{} // says nothing of the times between
	}
	return x, x2
}

// valueSums returns the sums of the values, and of their products with the distances in scratch.
func (s *span) valueSums() (y, xy floats.Sum) {
	return floats.SumAndProducts(s.values, s.scratch, s.bound, s.productBound())
}

// productBound returns the bound of products of the values with the distances in scratch, which
// ascend.
func (s *span) productBound() float64 {
	first, last := s.scratch[0], s.scratch[len(s.scratch)-1]
	if first < 0 && last > 0 {
		return math.Inf(1)
	}
	return s.bound * max(math.Abs(first), math.Abs(last))
}

// pattern is the times of samples at uniform distances, relative to a step.
type pattern struct {
	first, last int64
	samples     int
}

// smooth is Holt's double exponential smoothing: the first argument is the weight of the newest
// value, the second that of the newest trend.
func smooth(s *span) (float64, bool) {
	weight, trendWeight := s.args[0], s.args[1]
	if weight <= 0 || weight >= 1 {
		panic(fmt.Errorf("invalid smoothing factor. Expected: 0 < sf < 1, got: %f", weight))
	}
	if trendWeight <= 0 || trendWeight >= 1 {
		panic(fmt.Errorf("invalid trend factor. Expected: 0 < tf < 1, got: %f", trendWeight))
	}
	if len(s.values) < 2 {
		return 0, false
	}
	before, now := 0.0, s.values[0]
	trend := s.values[1] - s.values[0]
	for i, v := range s.values[1:] {
		x := weight * v
		if i > 0 {
			grown := trendWeight * (now - before)
			kept := (1 - trendWeight) * trend
			trend = grown + kept
		}
		y := (1 - weight) * (now + trend)
		before, now = now, x+y
	}
	return now, true
}
