package rangeql

import (
	"math"

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

// isFinite reports whether no infinity or NaN was added.
func (s compensated) isFinite() bool { return isFinite(s.sum) }

func isFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// sumOf returns the compensated sum of values after a first one.
func sumOf(first compensated, values []float64) compensated {
	sum, c := first.sum, first.c
	for _, v := range values {
		sum, c = plus(sum, c, v)
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
