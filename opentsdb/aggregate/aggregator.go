package aggregate

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
)

// An Interpolation is what a member of a group has between two of its points.
type Interpolation byte

// The interpolations. A TSD calls them LERP, ZIM, MAX, MIN and PREV.
const (
	Linear Interpolation = iota
	Zero
	Greatest // the greatest number of its type
	Least
	Previous
)

// An Aggregator makes one value of those that the members of a group have at an instant, or that a
// series has in an interval. Values are never empty.
type Aggregator struct {
	Name          string
	Interpolation Interpolation
	doubles       func(values []float64) float64
	longs         func(values []int64) int64
	fold          *fold // nil: it needs all values of an instant at once
}

// NewAggregator returns an aggregator that has no name.
func NewAggregator(i Interpolation, doubles func([]float64) float64, longs func([]int64) int64) Aggregator {
	return Aggregator{Interpolation: i, doubles: doubles, longs: longs}
}

// None stands for no aggregation: each series is a group.
const None = "none"

// Get returns an aggregator by its name.
func Get(name string) (Aggregator, bool) {
	a, ok := aggregators()[name]
	return a, ok
}

// Exists reports whether there is an aggregator with a name.
func Exists(name string) bool {
	_, ok := Get(name)
	return ok
}

// Names returns the names of all aggregators, sorted.
func Names() []string {
	var names []string
	for name := range aggregators() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Doubles aggregates floats.
func (a Aggregator) Doubles(values []float64) float64 { return a.doubles(values) }

// Longs aggregates integers.
func (a Aggregator) Longs(values []int64) int64 { return a.longs(values) }

var aggregators = sync.OnceValue(makeAggregators)

func makeAggregators() map[string]Aggregator {
	sums, averages, counts, leasts, greatests := folds()
	all := []Aggregator{
		{"sum", Linear, sum, sumLongs, &sums},
		{"pfsum", Previous, sum, sumLongs, &sums},
		{"zimsum", Zero, sum, sumLongs, &sums},
		{"squareSum", Zero, squareSum, squareSumLongs, nil},
		{"min", Linear, least, slices.Min[[]int64], &leasts},
		{"mimmin", Greatest, least, slices.Min[[]int64], &leasts},
		{"max", Linear, greatest, slices.Max[[]int64], &greatests},
		{"mimmax", Least, greatest, slices.Max[[]int64], &greatests},
		{"avg", Linear, average, averageLongs, &averages},
		{"median", Linear, median, medianLongs, nil},
		{"mult", Linear, multiply, multiplyLongs, nil},
		{"dev", Linear, deviation, deviationLongs, nil},
		{"diff", Linear, difference, differenceLongs, nil},
		{"count", Zero, count, countLongs, &counts},
		{"first", Zero, first[float64], first[int64], nil},
		{"last", Zero, last[float64], last[int64], nil},
		{None, Zero, first[float64], first[int64], nil},
	}
	for name, p := range map[string]float64{"50": 50, "75": 75, "90": 90, "95": 95, "99": 99, "999": 99.9} {
		all = append(all, percentileOf("p"+name, p, legacyPosition),
			percentileOf("ep"+name+"r3", p, nearestPosition), percentileOf("ep"+name+"r7", p, evenPosition))
	}
	byName := make(map[string]Aggregator, len(all))
	for _, a := range all {
		byName[a.Name] = a
	}
	return byName
}

func first[T any](values []T) T { return values[0] }
func last[T any](values []T) T  { return values[len(values)-1] }

func sum(values []float64) float64 {
	total, n := 0.0, 0
	for _, v := range values {
		if v == v {
			total += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return total
}

func sumLongs(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}
	return total
}

func squareSum(values []float64) float64 {
	total, n := 0.0, 0
	for _, v := range values {
		if v == v {
			total += float64(v * v) // rounded as Java rounds it, not fused with the addition
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return total
}

func squareSumLongs(values []int64) (total int64) {
	for _, v := range values {
		total += v * v
	}
	return total
}

func least(values []float64) float64 {
	low := math.Inf(1)
	for _, v := range values {
		if v < low {
			low = v
		}
	}
	if math.IsInf(low, 1) {
		return math.NaN()
	}
	return low
}

func greatest(values []float64) float64 {
	high := math.Inf(-1)
	for _, v := range values {
		if v > high {
			high = v
		}
	}
	if math.IsInf(high, -1) {
		return math.NaN()
	}
	return high
}

func average(values []float64) float64 {
	total, n := 0.0, 0
	for _, v := range values {
		if v == v {
			total += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return total / float64(n)
}

func averageLongs(values []int64) int64 { return sumLongs(values) / int64(len(values)) }

// median returns the upper of two values in the middle.
func median(values []float64) float64 {
	sorted := numbers(values)
	if len(sorted) == 0 {
		return math.NaN()
	}
	slices.SortFunc(sorted, compareJava)
	return sorted[len(sorted)/2]
}

func medianLongs(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// compareJava orders as Java's Double.compare does: -0 is less than 0.
func compareJava(a, b float64) int {
	if a == 0 && b == 0 {
		return cmp.Compare(boolInt(math.Signbit(b)), boolInt(math.Signbit(a)))
	}
	return cmp.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbers returns a copy of the values that are numbers.
func numbers(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if v == v {
			out = append(out, v)
		}
	}
	return out
}

func multiply(values []float64) float64 {
	total := values[0]
	for _, v := range values[1:] {
		total *= v
	}
	return total
}

func multiplyLongs(values []int64) int64 {
	total := values[0]
	for _, v := range values[1:] {
		total *= v
	}
	return total
}

// A spread is Welford's running deviation, in the order of a TSD's operations.
type spread struct {
	mean, squares float64
	n             int64 // one more than the values
}

func (s *spread) add(x float64) {
	if s.n == 0 {
		s.mean, s.n = x, 2
		return
	}
	mean := s.mean + float64((x-s.mean)/float64(s.n))
	s.squares += float64((x - s.mean) * (x - mean))
	s.mean = mean
	s.n++
}

func (s *spread) deviation() float64 {
	if s.n <= 2 {
		return 0
	}
	return math.Sqrt(s.squares / float64(s.n-1))
}

func deviation(values []float64) float64 {
	var s spread
	for _, v := range values {
		if v == v {
			s.add(v)
		}
	}
	if s.n == 0 {
		return math.NaN()
	}
	return s.deviation()
}

func deviationLongs(values []int64) int64 {
	var s spread
	for _, v := range values {
		s.add(float64(v))
	}
	return java.ToLong(s.deviation())
}

// difference returns the last value less the first that is a number; 0 if that is the last.
func difference(values []float64) float64 {
	i := slices.IndexFunc(values, func(v float64) bool { return v == v })
	switch {
	case i < 0:
		return math.NaN()
	case i == len(values)-1:
		return 0
	}
	return last(values) - values[i]
}

func differenceLongs(values []int64) int64 { return last(values) - values[0] }

func count(values []float64) float64 {
	n := 0
	for _, v := range values {
		if v == v {
			n++
		}
	}
	return float64(n)
}

func countLongs(values []int64) int64 { return int64(len(values)) }
