package series

import (
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// Aggregator computes one value from several, of which some may be null; null when it has nothing
// to compute from.
type Aggregator struct {
	Name string
	Of   func([]float64) float64
	// ints: never, always, or as the values are.
	ints intness
}

type intness int

const (
	neverInts intness = iota
	alwaysInts
	likeValues
)

// AggregatorNames returns the names that aggFunc parameters accept, in the order of /functions.
func AggregatorNames() []string {
	return []string{
		"average", "avg", "avg_zero", "count", "current", "diff", "last", "max", "median", "min", "multiply", "range",
		"rangeOf", "stddev", "sum", "total",
	}
}

// FindAggregator knows the names of graphite-web's aggfuncs.py; shown is the name as the user wrote
// it.
func FindAggregator(name, shown string) (Aggregator, error) {
	switch name {
	case "average", "avg":
		return Aggregator{name, Average, neverInts}, nil
	case "avg_zero":
		return Aggregator{name, averageZero, neverInts}, nil
	case "median":
		return Aggregator{name, median, neverInts}, nil
	case "sum", "total":
		return Aggregator{name, Present(Sum), likeValues}, nil
	case "min":
		return Aggregator{name, Present(Minimum), likeValues}, nil
	case "max":
		return Aggregator{name, Present(Maximum), likeValues}, nil
	case "diff":
		return Aggregator{name, Present(difference), likeValues}, nil
	case "stddev":
		return Aggregator{name, deviation, neverInts}, nil
	case "count":
		return Aggregator{name, func(v []float64) float64 { return float64(CountPresent(v)) }, alwaysInts}, nil
	case "range", "rangeOf":
		return Aggregator{name, Present(func(v []float64) float64 { return Maximum(v) - Minimum(v) }), neverInts}, nil
	case "multiply":
		return Aggregator{name, product, neverInts}, nil
	case "last", "current":
		return Aggregator{name, Last, likeValues}, nil
	}
	return Aggregator{}, python.Invalid("Unsupported aggregation function: %s", shown)
}

// ShortName strips the deprecated suffix of `sumSeries` and the like.
func ShortName(name string) string {
	if short, ok := strings.CutSuffix(name, "Series"); ok {
		return short
	}
	return name
}

// Present makes a function of values that are there; without any the result is null.
func Present(f func([]float64) float64) func([]float64) float64 {
	return func(values []float64) float64 {
		if slices.ContainsFunc(values, python.IsNone) {
			values = WithoutNone(values)
		}
		if len(values) == 0 {
			return python.None()
		}
		return f(values)
	}
}

// WithoutNone returns the values that are not null.
func WithoutNone(values []float64) []float64 {
	return AppendPresent(make([]float64, 0, len(values)), values)
}

// AppendPresent appends the values that are not null.
func AppendPresent(out, values []float64) []float64 {
	for _, v := range values {
		if !python.IsNone(v) {
			out = append(out, v)
		}
	}
	return out
}

// CountPresent returns how many values are not null.
func CountPresent(values []float64) int {
	n := 0
	for _, v := range values {
		if !python.IsNone(v) {
			n++
		}
	}
	return n
}

// Sum adds from left to right, as Python's sum does before 3.12.
func Sum(values []float64) float64 {
	t := 0.0
	for _, v := range values {
		t += v
	}
	return t
}

// Maximum is the greatest value. It keeps the first of what does not compare, as Python's max does.
func Maximum(values []float64) float64 {
	m := values[0]
	for _, v := range values[1:] {
		if v > m {
			m = v
		}
	}
	return m
}

// Minimum is the least value; see Maximum.
func Minimum(values []float64) float64 {
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

// Last returns the last value that is not null.
func Last(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !python.IsNone(v) {
			return v
		}
	}
	return python.None()
}

// Average returns the mean of the values that are not null.
func Average(values []float64) float64 {
	t, n := 0.0, 0
	for _, v := range values {
		if !python.IsNone(v) {
			t += v
			n++
		}
	}
	if n == 0 {
		return python.None()
	}
	return t / float64(n)
}

// averageZero counts nulls as zeros.
func averageZero(values []float64) float64 {
	if len(values) == 0 {
		return python.None()
	}
	return Sum(WithoutNone(values)) / float64(len(values))
}

func median(values []float64) float64 {
	sorted := WithoutNone(values)
	if len(sorted) == 0 {
		return python.None()
	}
	slices.Sort(sorted)
	return MiddleOf(sorted)
}

// MiddleOf returns the median of sorted values.
func MiddleOf(sorted []float64) float64 {
	mid := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[mid-1] + sorted[mid]) / 2
	}
	return sorted[mid]
}

func deviation(values []float64) float64 {
	mean, n := Average(values), CountPresent(values)
	if n == 0 {
		return python.None()
	}
	t := 0.0
	for _, v := range values {
		if !python.IsNone(v) {
			t += float64((v - mean) * (v - mean))
		}
	}
	return math.Sqrt(t / float64(n))
}

// product is null when any factor is.
func product(values []float64) float64 {
	t := 1.0
	for _, v := range values {
		if python.IsNone(v) {
			return v
		}
		t *= v
	}
	return t
}

// Quotient is null for a null operand and for a division by zero.
func Quotient(a, b float64) float64 {
	if python.IsNone(a) || python.IsNone(b) || b == 0 {
		return python.None()
	}
	return a / b
}

// Times is null for a null operand.
func Times(a, b float64) float64 {
	if python.IsNone(a) || python.IsNone(b) {
		return python.None()
	}
	return a * b
}

// Power is null for a null operand, outside its domain and on overflow.
func Power(a, b float64) float64 {
	if python.IsNone(a) || python.IsNone(b) {
		return python.None()
	}
	p := math.Pow(a, b)
	domain := math.IsNaN(p) && !math.IsNaN(a) && !math.IsNaN(b)
	overflow := math.IsInf(p, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
	if domain || overflow {
		return python.None()
	}
	return p
}

// Square is v**2, which Python refuses when it overflows.
func Square(v float64) (float64, error) {
	p := v * v
	if math.IsInf(p, 0) && !math.IsInf(v, 0) {
		return 0, python.Crash("numerical result out of range")
	}
	return p, nil
}

// IntsOf reports whether an aggregator gives integers for these series.
func (a Aggregator) IntsOf(list []*Series) bool {
	if a.ints != likeValues {
		return a.ints == alwaysInts
	}
	for _, s := range list {
		if !s.Ints {
			return false
		}
	}
	return true
}

// IntsOfValue is IntsOf for one value of a series: the median of an odd number of integers is one of them.
func (a Aggregator) IntsOfValue(s *Series) bool {
	if a.Name == "median" {
		return s.Ints && CountPresent(s.Values)%2 == 1
	}
	return a.IntsOf([]*Series{s})
}
