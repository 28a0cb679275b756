package floats

import (
	"math"
	"slices"
)

// Totals are sums of a series of whole numbers that are small enough for every sum of them to be
// exact. Its ranges need no additions: a compensated sum of them is the same number, with nothing to
// compensate.
type Totals struct {
	before []float64 // before[i] is the sum of the values before i
	Exact  bool
}

// greatestWhole is the number up to which all whole numbers are floats.
const greatestWhole = 1 << 53

// Begin takes another series.
func (t *Totals) Begin(series []float64) {
	t.Exact = false
	t.before = slices.Grow(t.before[:0], len(series)+1)[:len(series)+1]
	sum, magnitude := 0.0, 0.0
	t.before[0] = 0
	for i, v := range series {
		if magnitude += math.Abs(v); !(magnitude <= greatestWhole) || float64(int64(v)) != v {
			return
		}
		sum += v
		t.before[i+1] = sum
	}
	t.Exact = true
}

// Of returns the sum of a range.
func (t *Totals) Of(first, next int) Sum {
	return Sum{Value: t.before[next] - t.before[first]}
}
