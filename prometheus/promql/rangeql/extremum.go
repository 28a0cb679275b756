package rangeql

// extremum is the greatest value of a range, or the least, the first of those that are equal. It follows
// the range from step to step.
type extremum struct {
	least bool
	// candidates are the indexes, ascending, of values that are the extremum once all before them have
	// left the range. Those before head have.
	candidates []int
	head       int
	next       int // the first value that was not seen
	nan        bool
}

// begin takes another series. A series with NaN is not for an extremum to follow.
func (p *extremum) begin(series []float64) {
	p.candidates, p.head, p.next, p.nan = p.candidates[:0], 0, 0, false
	for _, v := range series {
		p.nan = p.nan || v != v
	}
}

// moveTo returns the extremum of a range of the series. No end of a range comes before that of the range
// before.
func (p *extremum) moveTo(series []float64, first, next int) float64 {
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

func (p *extremum) above(v, other float64) bool {
	if p.least {
		return v < other
	}
	return v > other
}
