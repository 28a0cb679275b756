package aggregator

import (
	"math"
	"slices"
)

// A method makes one value of those of an interval, in the order in which they came.
type method struct {
	cost  int64                        // bytes that a value takes
	add   func(v *interval, x float64) // before v.count is raised
	value func(v *interval) float64    // of one value at least
}

// methods are those of conf.AggregationMethods. They compute as Python 3.11 does: carbon sums from left to
// right, and of equal values the first is the least and the greatest.
var methods = map[string]*method{
	"sum":   {add: addSum, value: folded},
	"avg":   {add: addSum, value: func(v *interval) float64 { return v.folded / float64(v.count) }},
	"min":   {add: better(func(x, best float64) bool { return x < best }), value: folded},
	"max":   {add: better(func(x, best float64) bool { return x > best }), value: folded},
	"count": {add: func(*interval, float64) {}, value: func(v *interval) float64 { return float64(v.count) }},
	"p50":   percentile(0.50),
	"p75":   percentile(0.75),
	"p80":   percentile(0.80),
	"p90":   percentile(0.90),
	"p95":   percentile(0.95),
	"p99":   percentile(0.99),
	"p999":  percentile(0.999),
}

func folded(v *interval) float64 { return v.folded }

func addSum(v *interval, x float64) { v.folded += x }

// better keeps the value that is better than all before it.
func better(than func(x, best float64) bool) func(*interval, float64) {
	return func(v *interval, x float64) {
		if v.count == 0 || than(x, v.folded) {
			v.folded = x
		}
	}
}

// valueBytes is what a value takes that is kept: a slice that grows has up to twice its length.
const valueBytes = 16

// percentile is carbon's: between two values it takes a part of each.
func percentile(factor float64) *method {
	return &method{
		cost: valueBytes,
		add:  func(v *interval, x float64) { v.values = append(v.values, x) },
		value: func(v *interval) float64 {
			slices.Sort(v.values)
			rank := float64(factor * float64(len(v.values)-1))
			left, right := math.Floor(rank), math.Ceil(rank)
			if left == right {
				return v.values[int(left)]
			}
			low, high := float64(v.values[int(left)]*(right-rank)), float64(v.values[int(right)]*(rank-left))
			return low + high
		},
	}
}
