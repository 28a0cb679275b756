package functions

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// A slider keeps an aggregate of the values of a window that moves over a series, so that a step of the
// window takes the logarithm of its length at most. Its values are bit for bit those of the aggregator
// over the whole window. Values are known by their places in the series; null is not added.
type slider interface {
	// add adds the value of the place behind the window's end, drop takes away that of its first place.
	add(i int)
	drop(i int)
	// value returns the aggregate of the values, of which there is at least one.
	value() float64
}

// shortWindow is up to how many points a window is looked at as a whole: that is faster there.
const shortWindow = 16

// sliderBytes is the memory of a slider for each value of its series.
const sliderBytes = 24

// sliderOf returns what computes an aggregate over windows of so many points; nil if only the aggregator
// itself does. Sums of fractions are such: each window's is rounded in its own order.
func sliderOf(c *call.Call, values []float64, points int64, agg series.Aggregator) slider {
	if points <= shortWindow || points > int64(len(values)) || slices.ContainsFunc(values, undefined) {
		return nil
	}
	if more := sliderBytes*int64(len(values)) - c.Sliding; more > 0 { // One slider is used after the other.
		if !c.Reserve(more) {
			return nil
		}
		c.Sliding += more
	}
	switch agg.Name {
	case "median":
		return newRankedWindow(c, values)
	case "max":
		return &extremeWindow{values: values, worse: func(a, b float64) bool { return a < b }}
	case "min":
		return &extremeWindow{values: values, worse: func(a, b float64) bool { return a > b }}
	case "sum", "total", "average", "avg":
		if exactSums(values) {
			return &exactWindow{values: values, mean: agg.Name[0] == 'a'}
		}
	}
	return nil
}

// undefined reports whether a value is a NaN that is not null: it does not compare.
func undefined(v float64) bool { return math.IsNaN(v) && !python.IsNone(v) }

// A rankedWindow finds the values of a window by their places in its order. Equal values have the order of
// the series. It counts the values of the window in a Fenwick tree over the ranks of all values.
type rankedWindow struct {
	values []float64
	sorted []int32 // places of the values, in their order
	ranks  []int32 // of the values
	counts []int32 // counts[i] is how many of the lowest-bit(i) ranks before i are in the window
	size   int
}

func newRankedWindow(c *call.Call, values []float64) *rankedWindow {
	w := &rankedWindow{values: values, sorted: make([]int32, 0, len(values)), ranks: make([]int32, len(values)), counts: make([]int32, len(values)+1)}
	for i, v := range values {
		if !python.IsNone(v) {
			w.sorted = append(w.sorted, int32(i)) //nolint:gosec // a series has fewer points
		}
	}
	call.Order(c, w.sorted, func(a, b int32) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) })
	for rank, i := range w.sorted {
		w.ranks[i] = int32(rank) //nolint:gosec // a series has fewer points
	}
	return w
}

func (w *rankedWindow) add(i int)  { w.count(i, 1) }
func (w *rankedWindow) drop(i int) { w.count(i, -1) }

func (w *rankedWindow) count(i int, change int32) {
	w.size += int(change)
	for at := int(w.ranks[i]) + 1; at < len(w.counts); at += at & -at {
		w.counts[at] += change
	}
}

// at returns the value at a place of the window's order.
func (w *rankedWindow) at(place int) float64 {
	rank, left := 0, int32(place) //nolint:gosec // a series has fewer points
	for step := 1 << (bits.Len(uint(len(w.counts)-1)) - 1); step > 0; step >>= 1 {
		if next := rank + step; next < len(w.counts) && w.counts[next] <= left {
			rank = next
			left -= w.counts[next]
		}
	}
	return w.values[w.sorted[rank]]
}

func (w *rankedWindow) value() float64 {
	middle := w.size / 2
	if w.size%2 == 0 {
		return (w.at(middle-1) + w.at(middle)) / 2
	}
	return w.at(middle)
}

// An extremeWindow keeps the places of the values that may still become the extreme one, each worse than
// those before it or equal to them.
type extremeWindow struct {
	values []float64
	worse  func(a, b float64) bool
	places []int
	first  int // of places that is in the window
}

func (w *extremeWindow) add(i int) {
	for len(w.places) > w.first && w.worse(w.values[w.places[len(w.places)-1]], w.values[i]) {
		w.places = w.places[:len(w.places)-1]
	}
	w.places = append(w.places, i)
}

func (w *extremeWindow) drop(i int) {
	if w.places[w.first] == i {
		w.first++
	}
}

func (w *extremeWindow) value() float64 { return w.values[w.places[w.first]] }

// mostExact is up to which sum all sums of whole numbers are exact, in whichever order they are made.
const mostExact = 1 << 53

// exactSums reports whether every sum of values is exact.
func exactSums(values []float64) bool {
	most := 0.0
	for _, v := range values {
		if !python.IsNone(v) {
			if v != math.Trunc(v) {
				return false
			}
			most += math.Abs(v)
		}
	}
	return most <= mostExact
}

// An exactWindow keeps a sum that is exact.
type exactWindow struct {
	values []float64
	sum    float64
	size   int
	mean   bool
}

func (w *exactWindow) add(i int) {
	w.sum += w.values[i]
	w.size++
}

func (w *exactWindow) drop(i int) {
	w.sum -= w.values[i]
	w.size--
}

func (w *exactWindow) value() float64 {
	if w.mean {
		return w.sum / float64(w.size)
	}
	return w.sum
}
