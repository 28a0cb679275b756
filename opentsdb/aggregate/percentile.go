package aggregate

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
)

// A position is where among n sorted values, counted from 1, a quantile lies.
type position func(quantile float64, n int) float64

// legacyPosition is what commons-math uses unless told otherwise.
func legacyPosition(q float64, n int) float64 { return q * float64(n+1) }

// nearestPosition is R-3.
func nearestPosition(q float64, n int) float64 {
	if q <= 0.5/float64(n) {
		return 0
	}
	return math.RoundToEven(float64(n) * q)
}

// evenPosition is R-7.
func evenPosition(q float64, n int) float64 {
	return 1 + float64(float64(n-1)*q)
}

// percentileOf returns a percentile. A TSD uses the kind of estimation for integers alone, and
// cuts their result off.
func percentileOf(name string, percent float64, at position) Aggregator {
	return Aggregator{
		Name: name, Interpolation: Linear,
		doubles: func(values []float64) float64 { return percentile(numbers(values), percent, legacyPosition) },
		longs: func(values []int64) int64 {
			floats := make([]float64, len(values))
			for i, v := range values {
				floats[i] = float64(v)
			}
			return java.ToLong(percentile(floats, percent, at))
		},
	}
}

// percentile sorts the values.
func percentile(values []float64, percent float64, at position) float64 {
	n := len(values)
	switch n {
	case 0:
		return math.NaN()
	case 1:
		return values[0]
	}
	slices.SortFunc(values, compareJava)
	pos := at(percent/100, n)
	floor := math.Floor(pos)
	switch {
	case pos < 1:
		return values[0]
	case pos >= float64(n):
		return values[n-1]
	}
	low, high := values[int(floor)-1], values[int(floor)]
	return low + float64((pos-floor)*(high-low))
}
