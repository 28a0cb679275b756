package aggregate

import "math"

// A fold aggregates the floats of many instants member by member. It makes the same operations in the same
// order as the function of an aggregator that has all values of an instant, so results have the same bits.
type fold struct {
	start float64
	// add adds the values of one more member at some instants to what there is of these.
	add func(totals []float64, counts []int, values []float64)
	// end returns the result of an instant.
	end func(total float64, count int) float64
}

// unlessNone returns a total, or NaN if nothing was a number.
func unlessNone(total float64, count int) float64 {
	if count == 0 {
		return math.NaN()
	}
	return total
}

func folds() (sums, averages, counts, leasts, greatests fold) {
	sums = fold{
		add: func(totals []float64, counts []int, values []float64) {
			for k, v := range values {
				if v == v {
					totals[k] += v
					counts[k]++
				}
			}
		},
		end: unlessNone,
	}
	averages = sums
	averages.end = func(total float64, count int) float64 { return unlessNone(total/float64(count), count) }
	counts = sums
	counts.end = func(_ float64, count int) float64 { return float64(count) }
	leasts = fold{
		start: math.Inf(1),
		add: func(totals []float64, counts []int, values []float64) {
			for k, v := range values {
				if v < totals[k] {
					totals[k] = v
					counts[k]++
				}
			}
		},
		end: unlessNone,
	}
	greatests = fold{
		start: math.Inf(-1),
		add: func(totals []float64, counts []int, values []float64) {
			for k, v := range values {
				if v > totals[k] {
					totals[k] = v
					counts[k]++
				}
			}
		},
		end: unlessNone,
	}
	return sums, averages, counts, leasts, greatests
}

// foldBlock is how many instants are folded together.
const foldBlock = 64

// fold aggregates floats member by member.
func (r *result) fold(f *fold, pause func() error) (out Span, err error) {
	every := max(1, pauseAfter/(foldBlock*len(r.group.members)))
	places := r.places()
	var totals [foldBlock]float64
	var counts [foldBlock]int
	out.Times, out.Values = make([]int64, 0, len(r.times)), make([]float64, 0, len(r.times))
	for from, n := 0, 0; from < len(r.times); from, n = from+foldBlock, n+1 {
		if n%every == 0 {
			if err := pause(); err != nil {
				return Span{}, err
			}
		}
		times := r.times[from:min(from+foldBlock, len(r.times))]
		for k := range times {
			totals[k], counts[k] = f.start, 0
		}
		for i := range r.group.members {
			places[i] = r.group.fold(f, totals[:len(times)], counts[:len(times)], &r.group.members[i], places[i], times)
		}
		for k, t := range times {
			out.Add(t, f.end(totals[k], counts[k]))
		}
	}
	return out, nil
}

// fold adds what a member has at some instants, and returns the place of its current point.
func (g *Group) fold(f *fold, totals []float64, counts []int, m *Span, j int, times []int64) int {
	last := m.Len() - 1
	if !g.Rate || last > 0 {
		if at := m.at(j, times); at >= 0 {
			f.add(totals, counts, m.Values[at:at+len(times)])
			return at + len(times) - 1
		}
	}
	var one [1]float64
	for k, t := range times {
		var ok bool
		if j, ok = g.current(m, j, t); ok {
			one[0] = g.double(m, j, t)
			f.add(totals[k:], counts[k:], one[:])
		}
	}
	return j
}
