package floats

import (
	"math"
	"slices"
	"sort"
)

// Quantile returns the q-quantile of values, which it puts into another order: between two of them a weighted mean,
// NaN without values. NaN sorts first.
func Quantile(q float64, values []float64) float64 {
	if len(values) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	if q < 0 {
		return math.Inf(-1)
	}
	if q > 1 {
		return math.Inf(+1)
	}
	if isPlain(values) {
		lower, _, weight := ranks(q, len(values))
		at, after := neighbours(values, lower)
		return at*(1-weight) + after*weight
	}
	if slices.Contains(values, 0) {
		// 0 and -0 are equal and print differently: the order of the library's sort decides.
		sort.Sort(likeLibrary(values))
	} else {
		slices.Sort(values)
	}
	return QuantileOfSorted(q, values)
}

// QuantileOfSorted returns the q-quantile, q from 0 to 1, of values in ascending order.
func QuantileOfSorted(q float64, values []float64) float64 {
	lower, upper, weight := ranks(q, len(values))
	return values[lower]*(1-weight) + values[upper]*weight
}

// ranks returns the ranks of n values, from 0, between which the q-quantile is, and the weight of the
// upper one.
func ranks(q float64, n int) (lower, upper int, weight float64) {
	rank := q * (float64(n) - 1)
	low := math.Max(0, math.Floor(rank))
	high := math.Min(float64(n)-1, low+1)
	return int(low), int(high), rank - math.Floor(rank)
}

// likeLibrary sorts as the library does.
type likeLibrary []float64

func (s likeLibrary) Len() int           { return len(s) }
func (s likeLibrary) Less(i, j int) bool { return math.IsNaN(s[i]) || s[i] < s[j] }
func (s likeLibrary) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// IsNoQuantile reports whether a quantile is outside of 0 to 1.
func IsNoQuantile(q float64) bool { return math.IsNaN(q) || q < 0 || q > 1 }
