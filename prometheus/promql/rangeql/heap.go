package rangeql

import (
	"math"
	"sort"
)

// heap is a binary heap of values, with the one that goes first at the top. Its steps are those of
// container/heap, because they decide which of equal values stay.
type heap []entry

// entry is a value of a series.
type entry struct {
	value  float64
	series int32
}

// ascending puts the least value at the top, and NaN before all.
func ascending(a, b float64) bool { return math.IsNaN(a) || a < b }

// descending puts the greatest value at the top, and NaN before all.
func descending(a, b float64) bool { return math.IsNaN(a) || a > b }

// push adds a value.
func (h *heap) push(e entry, less func(a, b float64) bool) {
	*h = append(*h, e)
	s := *h
	for child := len(s) - 1; ; {
		parent := (child - 1) / 2
		if parent == child || !less(s[child].value, s[parent].value) {
			return
		}
		s[parent], s[child] = s[child], s[parent]
		child = parent
	}
}

// down moves an entry to its place among those below it.
func (h *heap) down(parent int, less func(a, b float64) bool) {
	s := *h
	for {
		child := 2*parent + 1
		if child >= len(s) {
			return
		}
		if right := child + 1; right < len(s) && less(s[right].value, s[child].value) {
			child = right
		}
		if !less(s[child].value, s[parent].value) {
			return
		}
		s[parent], s[child] = s[child], s[parent]
		parent = child
	}
}

// sortReverse sorts the entries, those that go first to the end, as the library does.
func (h heap) sortReverse(less func(a, b float64) bool) {
	sort.Sort(sort.Reverse(byValue{h, less}))
}

// byValue sorts entries.
type byValue struct {
	heap
	less func(a, b float64) bool
}

func (s byValue) Len() int           { return len(s.heap) }
func (s byValue) Less(i, j int) bool { return s.less(s.heap[i].value, s.heap[j].value) }
func (s byValue) Swap(i, j int)      { s.heap[i], s.heap[j] = s.heap[j], s.heap[i] }
