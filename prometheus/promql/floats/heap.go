package floats

import (
	"math"
	"sort"
)

// Heap is a binary heap of values, with the one that goes first at the top. Its steps are those of
// container/heap, because they decide which of equal values stay.
type Heap []Entry

// Entry is a value of a series.
type Entry struct {
	Value  float64
	Series int32
}

// Ascending puts the least value at the top, and NaN before all.
func Ascending(a, b float64) bool { return math.IsNaN(a) || a < b }

// Descending puts the greatest value at the top, and NaN before all.
func Descending(a, b float64) bool { return math.IsNaN(a) || a > b }

// Push adds a value.
func (h *Heap) Push(e Entry, less func(a, b float64) bool) {
	*h = append(*h, e)
	s := *h
	for child := len(s) - 1; ; {
		parent := (child - 1) / 2
		if parent == child || !less(s[child].Value, s[parent].Value) {
			return
		}
		s[parent], s[child] = s[child], s[parent]
		child = parent
	}
}

// Down moves an entry to its place among those below it.
func (h *Heap) Down(parent int, less func(a, b float64) bool) {
	s := *h
	for {
		child := 2*parent + 1
		if child >= len(s) {
			return
		}
		if right := child + 1; right < len(s) && less(s[right].Value, s[child].Value) {
			child = right
		}
		if !less(s[child].Value, s[parent].Value) {
			return
		}
		s[parent], s[child] = s[child], s[parent]
		parent = child
	}
}

// SortReverse sorts the entries, those that go first to the end, as the library does.
func (h Heap) SortReverse(less func(a, b float64) bool) {
	sort.Sort(sort.Reverse(byValue{h, less}))
}

// byValue sorts entries.
type byValue struct {
	Heap
	less func(a, b float64) bool
}

func (s byValue) Len() int           { return len(s.Heap) }
func (s byValue) Less(i, j int) bool { return s.less(s.Heap[i].Value, s.Heap[j].Value) }
func (s byValue) Swap(i, j int)      { s.Heap[i], s.Heap[j] = s.Heap[j], s.Heap[i] }
