package rangeql

import "math"

// adding is a kind of function that adds the values of a range.
type adding uint8

const (
	addsNothing adding = iota
	addsAll            // sum_over_time
	addsToMean         // avg_over_time
)

// sumsAtOnce is how many ranges are added at the same time: each addition waits for the one before,
// and the processor can do others meanwhile.
const sumsAtOnce = 4

// evenSums is a sum or an average of ranges of even samples.
func (e *evaluator) evenSums(times []int64, values []float64, out []float64) int {
	w := e.even(times)
	e.span.totals.begin(values)
	found := 0
	for step := 0; step < len(out); {
		first, _ := w.at(step)
		_, last := w.at(step + sumsAtOnce - 1)
		if step > 0 && step+sumsAtOnce <= len(out) && first >= 0 && last <= len(values) && w.size > 1 && e.sumsOf(values, first, w.stride, w.size, out[step:]) {
			for range sumsAtOnce {
				e.sees(w.size, min(w.size, w.stride))
			}
			found += sumsAtOnce
			step += sumsAtOnce
		} else {
			p := w.place(step, len(values))
			out[step] = absent
			if v, ok := e.at(step, times, values, &p); ok {
				out[step] = v
				found++
			}
			step++
		}
		if e.visited > visitsPerLook {
			if e.visited = 0; e.ended() {
				return found // the result is not used
			}
		}
	}
	return found
}

// sumsOf sets the results of some steps. It reports false if one is not finite: the function itself
// knows what to do.
func (e *evaluator) sumsOf(values []float64, first, stride, size int, out []float64) bool {
	var sums [sumsAtOnce]compensated
	if t := &e.span.totals; t.exact {
		for k := range sums {
			sums[k] = t.of(first+k*stride, first+k*stride+size)
		}
		e.setSums(out, sums, size)
		return true
	}
	begin := 0
	if e.function.adds == addsToMean {
		for k := range sums {
			sums[k].sum = values[first+k*stride]
		}
		begin = 1
	}
	rows := [sumsAtOnce][]float64{}
	for k := range rows {
		rows[k] = values[first+k*stride+begin : first+k*stride+size]
	}
	sums = addRows(sums, rows, e.span.bound)
	for _, s := range sums {
		if !s.isFinite() {
			return false
		}
	}
	e.setSums(out, sums, size)
	return true
}

// setSums sets the results of steps from the sums of their ranges.
func (e *evaluator) setSums(out []float64, sums [sumsAtOnce]compensated, size int) {
	count := float64(size)
	for k, s := range sums {
		if e.function.adds == addsToMean {
			out[k] = s.sum/count + s.c/count
		} else {
			out[k] = s.sum + s.c
		}
	}
}

// addRows adds rows of the same length to sums. All values, and those that were
// added before, have that bound.
func addRows(sums [sumsAtOnce]compensated, rows [sumsAtOnce][]float64, bound float64) [sumsAtOnce]compensated {
	n := len(rows[0])
	r0, r1, r2, r3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	s0, s1, s2, s3 := sums[0].sum, sums[1].sum, sums[2].sum, sums[3].sum
	c0, c1, c2, c3 := sums[0].c, sums[1].c, sums[2].c, sums[3].c
	i := 0
	for i < n && !reached(bound, s0, s1, s2, s3) {
		for end := min(i+betweenLooks, n); i < end; i++ {
			s0, c0 = plus(s0, c0, r0[i])
			s1, c1 = plus(s1, c1, r1[i])
			s2, c2 = plus(s2, c2, r2[i])
			s3, c3 = plus(s3, c3, r3[i])
		}
	}
	for ; i < n; i++ {
		s0, c0 = grow(s0, c0, r0[i])
		s1, c1 = grow(s1, c1, r1[i])
		s2, c2 = grow(s2, c2, r2[i])
		s3, c3 = grow(s3, c3, r3[i])
	}
	return [sumsAtOnce]compensated{{s0, c0}, {s1, c1}, {s2, c2}, {s3, c3}}
}

// reached reports whether the magnitudes of all sums have reached a bound.
func reached(bound, s0, s1, s2, s3 float64) bool {
	return math.Abs(s0) >= bound && math.Abs(s1) >= bound && math.Abs(s2) >= bound && math.Abs(s3) >= bound
}
