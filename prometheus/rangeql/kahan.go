package rangeql

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/util/kahansum"
)

// A compensated is a sum with Kahan's compensation as Neumaier improved it. It has the library's
// bits.
type compensated struct{ sum, c float64 }

// add adds any number.
func (s *compensated) add(v float64) { s.sum, s.c = kahansum.Inc(v, s.sum, s.c) }

// plus returns the sum and the compensation after a number was added. It does not look for
// infinities, so that the compiler can inline it: only isFinite tells whether the result is right.
// The conversions keep the compiler from fusing operations.
func plus(sum, c, v float64) (newSum, newC float64) {
	t := float64(sum + v)
	if math.Abs(sum) >= math.Abs(v) {
		return t, float64(c + float64(float64(sum-t)+v))
	}
	return t, float64(c + float64(float64(v-t)+sum))
}

// grow is plus for a number whose magnitude is at most that of the sum.
func grow(sum, c, v float64) (newSum, newC float64) {
	t := float64(sum + v)
	return t, float64(c + float64(float64(sum-t)+v))
}

// settledAfter returns after how many values of a range the sum of these has at least the magnitude
// of any further value, for all ranges of a series: grow adds the rest. It holds for products of the
// values with distances in time as well, if these are even and of one sign. It is more than any
// range has where the values are not known to be so.
//
// With values of one sign from m to M, the sum of j values is at least j m, hence M after M/m of
// them. Of products with distances that grow from 0, the sum of j is at least m j(j-1)/2 times the
// step, which is M j after 2 M/m + 1. The rest is for rounding.
func settledAfter(series []float64) int {
	const most, least, greatest = 1 << 10, 1e-200, 1e200
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range series {
		low, high = lesser(low, v), greater(high, v)
	}
	if high < 0 {
		low, high = -high, -low
	}
	if !(low > least && high < greatest && high < most*low) || slices.ContainsFunc(series, math.IsNaN) {
		return math.MaxInt
	}
	return 4*int(high/low) + 8
}

// lesser and greater return a number that is not NaN, or the first.
func lesser(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

func greater(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

// isFinite reports whether no infinity or NaN was added.
func (s compensated) isFinite() bool { return isFinite(s.sum) }

func isFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// sumOf returns the compensated sum of values after a first one. settled is that of the series.
func sumOf(first compensated, values []float64, settled int) compensated {
	sum, c := first.sum, first.c
	some := min(settled, len(values))
	for _, v := range values[:some] {
		sum, c = plus(sum, c, v)
	}
	for _, v := range values[some:] {
		sum, c = grow(sum, c, v)
	}
	if s := (compensated{sum, c}); s.isFinite() {
		return s
	}
	s := first
	for _, v := range values {
		s.add(v)
	}
	return s
}
