package floats

import "slices"

// Ordered is the values of a range in ascending order. It follows the range from step to step, which
// costs less than sorting each.
type Ordered struct {
	sorted      []float64
	first, next int // the range, in the series; empty before the first step
	Plain       bool
}

// Begin takes another series. It is for plain values: the order of several NaN, and of 0 and -0,
// depends on how the library sorts.
func (o *Ordered) Begin(series []float64) {
	o.sorted, o.first, o.next = o.sorted[:0], 0, 0
	o.Plain = isPlain(series)
}

// MoveTo returns the values of a range of the series, in order. No end of a range comes before that
// of the range before.
func (o *Ordered) MoveTo(series []float64, first, next int) []float64 {
	leave, enter := series[o.first:max(o.first, min(first, o.next))], series[max(first, o.next):next]
	// A value costs about as much as some comparisons of a sort.
	if len(leave)+len(enter) > (next-first)/2 {
		o.sorted = append(o.sorted[:0], series[first:next]...)
		slices.Sort(o.sorted)
	} else {
		o.replace(leave, enter)
	}
	o.first, o.next = first, next
	return o.sorted
}

// replace takes values out, and others in.
func (o *Ordered) replace(leave, enter []float64) {
	both := min(len(leave), len(enter))
	for i, v := range enter[:both] {
		from, _ := slices.BinarySearch(o.sorted, leave[i])
		to, _ := slices.BinarySearch(o.sorted, v)
		if to > from {
			to--
			copy(o.sorted[from:to], o.sorted[from+1:to+1])
		} else {
			copy(o.sorted[to+1:from+1], o.sorted[to:from])
		}
		o.sorted[to] = v
	}
	for _, v := range leave[both:] {
		at, _ := slices.BinarySearch(o.sorted, v)
		o.sorted = slices.Delete(o.sorted, at, at+1)
	}
	for _, v := range enter[both:] {
		at, _ := slices.BinarySearch(o.sorted, v)
		o.sorted = slices.Insert(o.sorted, at, v)
	}
}
