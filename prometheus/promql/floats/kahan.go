// Package floats is the arithmetic of PromQL over float64: compensated sums, means, quantiles, the extrema
// and the order of ranges that move on, and heaps of values. Its results have the bits of those of
// Prometheus' engine. It knows no times, no labels and no queries.
package floats

import (
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
)

// A Sum is a sum with Kahan's compensation as Neumaier improved it. It has the library's
// bits.
type Sum struct{ Value, Rest float64 }

// add adds any number.
func (s *Sum) add(v float64) { s.Value, s.Rest = kahansum.Inc(v, s.Value, s.Rest) }

// Add returns the sum and the compensation after a number was added. It does not look for
// infinities, so that the compiler can inline it: only IsFinite shows whether the result is right.
// The conversions keep the compiler from fusing operations.
func Add(sum, c, v float64) (newSum, newC float64) {
	t := float64(sum + v)
	if math.Abs(sum) >= math.Abs(v) {
		return t, float64(c + float64(float64(sum-t)+v))
	}
	return t, float64(c + float64(float64(v-t)+sum))
}

// grow is Add for a number whose magnitude is at most that of the sum.
func grow(sum, c, v float64) (newSum, newC float64) {
	t := float64(sum + v)
	return t, float64(c + float64(float64(sum-t)+v))
}

// BoundOf returns the greatest magnitude of values that are all of one sign, else infinity. Once the
// magnitude of a sum of such values has reached it, the sum only grows away from 0, and grow adds
// the rest.
func BoundOf(values []float64) float64 {
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

// IsFinite reports whether no infinity or NaN was added.
func (s Sum) IsFinite() bool { return IsFinite(s.Value) }

// IsFinite reports whether a number is neither infinite nor NaN.
func IsFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// SumOf returns the compensated sum of values after a first one, all of which have that bound.
func SumOf(first Sum, values []float64, bound float64) Sum {
	sum, c := first.Value, first.Rest
	i := 0
	for i < len(values) && !(math.Abs(sum) >= bound) {
		for _, v := range values[i:min(i+betweenLooks, len(values))] {
			sum, c = Add(sum, c, v)
			i++
		}
	}
	for _, v := range values[i:] {
		sum, c = grow(sum, c, v)
	}
	if s := (Sum{sum, c}); s.IsFinite() {
		return s
	}
	s := first
	for _, v := range values {
		s.add(v)
	}
	return s
}

// SumsAtOnce is how many ranges are added at the same time: each addition waits for the one before,
// and the processor can do others meanwhile.
const SumsAtOnce = 4

// SumRows adds rows of the same length to sums. All values, and those that were
// added before, have that bound.
func SumRows(sums [SumsAtOnce]Sum, rows [SumsAtOnce][]float64, bound float64) [SumsAtOnce]Sum {
	n := len(rows[0])
	r0, r1, r2, r3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	s0, s1, s2, s3 := sums[0].Value, sums[1].Value, sums[2].Value, sums[3].Value
	c0, c1, c2, c3 := sums[0].Rest, sums[1].Rest, sums[2].Rest, sums[3].Rest
	i := 0
	for i < n && !reached(bound, s0, s1, s2, s3) {
		for end := min(i+betweenLooks, n); i < end; i++ {
			s0, c0 = Add(s0, c0, r0[i])
			s1, c1 = Add(s1, c1, r1[i])
			s2, c2 = Add(s2, c2, r2[i])
			s3, c3 = Add(s3, c3, r3[i])
		}
	}
	for ; i < n; i++ {
		s0, c0 = grow(s0, c0, r0[i])
		s1, c1 = grow(s1, c1, r1[i])
		s2, c2 = grow(s2, c2, r2[i])
		s3, c3 = grow(s3, c3, r3[i])
	}
	return [SumsAtOnce]Sum{{s0, c0}, {s1, c1}, {s2, c2}, {s3, c3}}
}

// reached reports whether the magnitudes of all sums have reached a bound.
func reached(bound, s0, s1, s2, s3 float64) bool {
	return math.Abs(s0) >= bound && math.Abs(s1) >= bound && math.Abs(s2) >= bound && math.Abs(s3) >= bound
}

// SumProducts returns the sums of the products of rows with others, all of the same length.
// All products have that bound.
func SumProducts(rows [SumsAtOnce][]float64, by []float64, bound float64) [SumsAtOnce]Sum {
	n := len(rows[0])
	r0, r1, r2, r3, by := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n], by[:n]
	var s0, s1, s2, s3, c0, c1, c2, c3 float64
	i := 0
	for i < n && !reached(bound, s0, s1, s2, s3) {
		for end := min(i+betweenLooks, n); i < end; i++ {
			x := by[i]
			s0, c0 = Add(s0, c0, float64(x*r0[i]))
			s1, c1 = Add(s1, c1, float64(x*r1[i]))
			s2, c2 = Add(s2, c2, float64(x*r2[i]))
			s3, c3 = Add(s3, c3, float64(x*r3[i]))
		}
	}
	for ; i < n; i++ {
		x := by[i]
		s0, c0 = grow(s0, c0, float64(x*r0[i]))
		s1, c1 = grow(s1, c1, float64(x*r1[i]))
		s2, c2 = grow(s2, c2, float64(x*r2[i]))
		s3, c3 = grow(s3, c3, float64(x*r3[i]))
	}
	return [SumsAtOnce]Sum{{s0, c0}, {s1, c1}, {s2, c2}, {s3, c3}}
}

// SumAndProducts returns the sum of values, and that of their products with others, each of which has a bound.
func SumAndProducts(values, by []float64, bound, productBound float64) (sum, products Sum) {
	n := len(values)
	by = by[:n]
	var sumY, cY, sumXY, cXY float64
	i := 0
	for i < n && !(math.Abs(sumY) >= bound && math.Abs(sumXY) >= productBound) {
		for end := min(i+betweenLooks, n); i < end; i++ {
			sumY, cY = Add(sumY, cY, values[i])
			sumXY, cXY = Add(sumXY, cXY, float64(by[i]*values[i]))
		}
	}
	for ; i < n; i++ {
		sumY, cY = grow(sumY, cY, values[i])
		sumXY, cXY = grow(sumXY, cXY, float64(by[i]*values[i]))
	}
	sum, products = Sum{sumY, cY}, Sum{sumXY, cXY}
	if sum.IsFinite() && products.IsFinite() {
		return sum, products
	}
	sum, products = Sum{}, Sum{}
	for i, v := range values {
		sum.add(v)
		products.add(by[i] * v)
	}
	return sum, products
}
