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

// grow is plus for a number whose magnitude is at most that of the sum.
func grow(sum, c, v float64) (newSum, newC float64) {
	t := float64(sum + v)
	return t, float64(c + float64(float64(sum-t)+v))
}

// boundOf returns the greatest magnitude of values that are all of one sign, else infinity. Once the
// magnitude of a sum of such values has reached it, the sum only grows away from 0, and grow adds
// the rest.
func boundOf(values []float64) float64 {
	low, high := 0.0, 0.0
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		if v != v {
			return math.Inf(1)
		}
	}
	if low < 0 && high > 0 {
		return math.Inf(1)
	}
	return high - low
}

// betweenLooks is how many values are added between two looks at whether the sum has reached the
// bound.
const betweenLooks = 8

// isFinite reports whether no infinity or NaN was added.
func (s compensated) isFinite() bool { return isFinite(s.sum) }

func isFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// sumOf returns the compensated sum of values after a first one, all of which have that bound.
func sumOf(first compensated, values []float64, bound float64) compensated {
	sum, c := first.sum, first.c
	i := 0
	for i < len(values) && !(math.Abs(sum) >= bound) {
		for _, v := range values[i:min(i+betweenLooks, len(values))] {
			sum, c = plus(sum, c, v)
			i++
		}
	}
	for _, v := range values[i:] {
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
