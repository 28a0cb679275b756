package rangeql

import (
	"fmt"
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
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
	var x, y, xy, x2 compensated
	for i, v := range s.values {
		t := float64(s.times[i]-at) / 1e3
		x.add(t)
		y.add(v)
		xy.add(t * v)
		x2.add(t * t)
	}
	n := float64(len(s.values))
	sumX, sumY := x.sum+x.c, y.sum+y.c
	sumXY, sumX2 := xy.sum+xy.c, x2.sum+x2.c
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

// compensated is a sum with Kahan's compensation.
type compensated struct{ sum, c float64 }

func (s *compensated) add(v float64) { s.sum, s.c = kahansum.Inc(v, s.sum, s.c) }

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
