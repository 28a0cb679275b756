package floats

import (
	"math"
	"math/bits"
	"slices"
)

// isPlain reports whether the order of values is that of their numbers alone: there is neither NaN
// nor -0.
func isPlain(values []float64) bool {
	for _, v := range values {
		if v != v || v == 0 && math.Signbit(v) {
			return false
		}
	}
	return true
}

// neighbours returns the values of two neighbouring ranks, from 0, among plain values, which it puts
// into another order. The second is the first where there is no further value.
func neighbours(values []float64, rank int) (at, after float64) {
	selectRank(values, rank)
	at, after = values[rank], values[rank]
	if rest := values[rank+1:]; len(rest) > 0 {
		after = slices.Min(rest)
	}
	return at, after
}

// fewToSort is how many values are sorted rather than cut further.
const fewToSort = 24

// selectRank puts a value of plain ones to its rank, those that are not greater before it, and those
// that are not less after it: Hoare's selection, which gives up where the pivots are bad.
func selectRank(values []float64, rank int) {
	for cuts := 2 * bits.Len(uint(len(values))); cuts > 0 && len(values) > fewToSort; cuts-- {
		below, above := cut(values)
		switch {
		case rank < below:
			values = values[:below]
		case rank >= above:
			values, rank = values[above:], rank-above
		default:
			return
		}
	}
	slices.Sort(values)
}

// cut puts values that are at most a pivot before those that are at least as great. Those from below
// to above are equal to it.
func cut(values []float64) (below, above int) {
	n := len(values)
	a, b, c := values[0], values[n/2], values[n-1]
	pivot := max(min(a, b), min(max(a, b), c))
	i, j := 0, n-1
	for i <= j {
		for values[i] < pivot {
			i++
		}
		for values[j] > pivot {
			j--
		}
		if i <= j {
			values[i], values[j] = values[j], values[i]
			i++
			j--
		}
	}
	return j + 1, i
}
