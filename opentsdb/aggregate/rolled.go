package aggregate

// Rolled values were made of points of longer intervals, each by one function. They are downsampled
// by the function that made them, except that numbers of points are added up, and averages are the
// sum of all sums over the number of all points.

// RolledRange returns the range of a query of rows that begin at scanStart and end at scanEnd.
func RolledRange(start, end, scanStart, scanEnd int64) Range {
	return Range{start, end, scanStart, scanEnd}
}

// ofCounts is the plan for numbers of points.
func (p *Plan) ofCounts() *Plan {
	d, out := *p.Downsampling, *p
	d.Function = NewAggregator(d.Function.Interpolation, plainSum, nil)
	out.Downsampling = &d
	return &out
}

// plainSum adds up all values; a NaN is not left out.
func plainSum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// MemberOfCounts is Member for numbers of points.
func (p *Plan) MemberOfCounts(counts Span) (Span, error) { return p.ofCounts().Member(counts, nil) }

// MemberOfMeans is Member for averages, of sums and numbers of points at the same instants. The average
// of no points is 0.
func (p *Plan) MemberOfMeans(sums, counts Span) (Span, error) {
	d := p.ofCounts().Downsampling
	means, err := d.even(p.Range, func(g steps) Span {
		from := firstWhole(sums, g, p.Range)
		out, n := d.buckets(sums.from(from), g, nil), d.buckets(counts.from(from), g, nil)
		for i, count := range n.Values {
			if count == 0 {
				out.Values[i] = 0
			} else {
				out.Values[i] /= count
			}
		}
		return out
	})
	if err != nil || p.Rate == nil {
		return means, err
	}
	return p.Rate.rate(means), nil
}

// Common returns the points at instants that both spans have.
func Common(a, b Span) (inA, inB Span) {
	for i, j := 0, 0; i < a.Len() && j < b.Len(); {
		switch {
		case a.Times[i] < b.Times[j]:
			i++
		case a.Times[i] > b.Times[j]:
			j++
		default:
			inA.Add(a.Times[i], a.Values[i])
			inB.Add(b.Times[j], b.Values[j])
			i, j = i+1, j+1
		}
	}
	return inA, inB
}
