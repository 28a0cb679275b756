package floats

// Extremum is the greatest value of a range, or the least, the first of those that are equal. It follows
// the range from step to step.
type Extremum struct {
	Least bool
	// candidates are the indexes, ascending, of values that are the extremum once all before them have
	// left the range. Those before head have.
	candidates []int
	head       int
	next       int // the first value that was not seen
	HasNaN     bool
}

// Begin takes another series. A series with NaN is not for an extremum to follow.
func (p *Extremum) Begin(series []float64) {
	p.candidates, p.head, p.next, p.HasNaN = p.candidates[:0], 0, 0, false
	for _, v := range series {
		p.HasNaN = p.HasNaN || v != v
	}
}

// MoveTo returns the extremum of a range of the series. No end of a range comes before that of the range
// before.
func (p *Extremum) MoveTo(series []float64, first, next int) float64 {
	for p.head < len(p.candidates) && p.candidates[p.head] < first {
		p.head++
	}
	for i := max(first, p.next); i < next; i++ {
		v, n := series[i], len(p.candidates)
		for n > p.head && p.above(v, series[p.candidates[n-1]]) {
			n--
		}
		p.candidates = append(p.candidates[:n], i)
	}
	p.next = next
	return series[p.candidates[p.head]]
}

func (p *Extremum) above(v, other float64) bool {
	if p.Least {
		return v < other
	}
	return v > other
}
