package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// aggregator computes one value from several, of which some may be null; null when it has nothing
// to compute from.
type aggregator struct {
	name string
	of   func([]float64) float64
	// ints: never, always, or as the values are.
	ints intness
}

type intness int

const (
	neverInts intness = iota
	alwaysInts
	likeValues
)

// aggregatorNames returns the names that aggFunc parameters accept, in the order of /functions.
func aggregatorNames() []string {
	return []string{
		"average", "avg", "avg_zero", "count", "current", "diff", "last", "max", "median", "min", "multiply", "range",
		"rangeOf", "stddev", "sum", "total",
	}
}

// findAggregator knows the names of graphite-web's aggfuncs.py; shown is the name as the user wrote
// it.
func findAggregator(name, shown string) (aggregator, error) {
	switch name {
	case "average", "avg":
		return aggregator{name, average, neverInts}, nil
	case "avg_zero":
		return aggregator{name, averageZero, neverInts}, nil
	case "median":
		return aggregator{name, median, neverInts}, nil
	case "sum", "total":
		return aggregator{name, present(sum), likeValues}, nil
	case "min":
		return aggregator{name, present(minimum), likeValues}, nil
	case "max":
		return aggregator{name, present(maximum), likeValues}, nil
	case "diff":
		return aggregator{name, present(difference), likeValues}, nil
	case "stddev":
		return aggregator{name, deviation, neverInts}, nil
	case "count":
		return aggregator{name, func(v []float64) float64 { return float64(countPresent(v)) }, alwaysInts}, nil
	case "range", "rangeOf":
		return aggregator{name, present(func(v []float64) float64 { return maximum(v) - minimum(v) }), neverInts}, nil
	case "multiply":
		return aggregator{name, product, neverInts}, nil
	case "last", "current":
		return aggregator{name, last, likeValues}, nil
	}
	return aggregator{}, invalid("Unsupported aggregation function: %s", shown)
}

// shortName strips the deprecated suffix of `sumSeries` and the like.
func shortName(name string) string {
	if short, ok := strings.CutSuffix(name, "Series"); ok {
		return short
	}
	return name
}

// present makes a function of values that are there; without any the result is null.
func present(f func([]float64) float64) func([]float64) float64 {
	return func(values []float64) float64 {
		if slices.ContainsFunc(values, IsNone) {
			values = withoutNone(values)
		}
		if len(values) == 0 {
			return None()
		}
		return f(values)
	}
}

func withoutNone(values []float64) []float64 {
	return appendPresent(make([]float64, 0, len(values)), values)
}

func appendPresent(out, values []float64) []float64 {
	for _, v := range values {
		if !IsNone(v) {
			out = append(out, v)
		}
	}
	return out
}

func countPresent(values []float64) int {
	n := 0
	for _, v := range values {
		if !IsNone(v) {
			n++
		}
	}
	return n
}

// sum adds from left to right, as Python's sum does before 3.12.
func sum(values []float64) float64 {
	t := 0.0
	for _, v := range values {
		t += v
	}
	return t
}

// maximum and minimum keep the first of what does not compare, as Python's do.
func maximum(values []float64) float64 {
	m := values[0]
	for _, v := range values[1:] {
		if v > m {
			m = v
		}
	}
	return m
}

func minimum(values []float64) float64 {
	m := values[0]
	for _, v := range values[1:] {
		if v < m {
			m = v
		}
	}
	return m
}

func difference(values []float64) float64 {
	t := values[0]
	for _, v := range values[1:] {
		t -= v
	}
	return t
}

func last(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !IsNone(v) {
			return v
		}
	}
	return None()
}

func average(values []float64) float64 {
	t, n := 0.0, 0
	for _, v := range values {
		if !IsNone(v) {
			t += v
			n++
		}
	}
	if n == 0 {
		return None()
	}
	return t / float64(n)
}

// averageZero counts nulls as zeros.
func averageZero(values []float64) float64 {
	if len(values) == 0 {
		return None()
	}
	return sum(withoutNone(values)) / float64(len(values))
}

func median(values []float64) float64 {
	sorted := withoutNone(values)
	if len(sorted) == 0 {
		return None()
	}
	slices.Sort(sorted)
	return middleOf(sorted)
}

func middleOf(sorted []float64) float64 {
	mid := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[mid-1] + sorted[mid]) / 2
	}
	return sorted[mid]
}

func deviation(values []float64) float64 {
	mean, n := average(values), countPresent(values)
	if n == 0 {
		return None()
	}
	t := 0.0
	for _, v := range values {
		if !IsNone(v) {
			t += float64((v - mean) * (v - mean))
		}
	}
	return math.Sqrt(t / float64(n))
}

// product is null when any factor is.
func product(values []float64) float64 {
	t := 1.0
	for _, v := range values {
		if IsNone(v) {
			return v
		}
		t *= v
	}
	return t
}

// quotient is null for a null operand and for a division by zero.
func quotient(a, b float64) float64 {
	if IsNone(a) || IsNone(b) || b == 0 {
		return None()
	}
	return a / b
}

// times is null for a null operand.
func times(a, b float64) float64 {
	if IsNone(a) || IsNone(b) {
		return None()
	}
	return a * b
}

// power is null for a null operand, outside its domain and on overflow.
func power(a, b float64) float64 {
	if IsNone(a) || IsNone(b) {
		return None()
	}
	p := math.Pow(a, b)
	domain := math.IsNaN(p) && !math.IsNaN(a) && !math.IsNaN(b)
	overflow := math.IsInf(p, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
	if domain || overflow {
		return None()
	}
	return p
}

// square is v**2, which Python refuses when it overflows.
func square(v float64) (float64, error) {
	p := v * v
	if math.IsInf(p, 0) && !math.IsInf(v, 0) {
		return 0, crash("numerical result out of range")
	}
	return p, nil
}

// percentile is graphite-web's _getPercentile. Ranks outside the values count from the end, as
// Python's indexes do.
func (c *call) percentile(points []float64, n float64, interpolate bool) (float64, error) {
	sorted := withoutNone(points)
	if len(sorted) == 0 {
		return None(), nil
	}
	if !order(c, sorted, cmp.Compare) {
		return None(), c.err
	}
	fractional := float64(n / 100 * float64(len(sorted)+1))
	if math.Abs(fractional) > 1<<53 {
		return 0, crash("percentile %s is out of range", general(n))
	}
	rank := int64(fractional)
	fraction := fractional - float64(rank)
	if !interpolate {
		rank += int64(math.Ceil(fraction))
	}
	value, ok := item(sorted, rank-1)
	switch {
	case rank == 0:
		value, ok = sorted[0], true
	case rank-1 == int64(len(sorted)):
		value, ok = sorted[len(sorted)-1], true
	}
	if interpolate && ok && rank != int64(len(sorted)) {
		var next float64
		next, ok = item(sorted, rank)
		value += float64(fraction * (next - value))
	}
	if !ok {
		return 0, crash("percentile %s is out of range", general(n))
	}
	return value, nil
}
