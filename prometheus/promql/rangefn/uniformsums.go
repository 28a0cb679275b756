package rangefn

import (
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// adding is a kind of function that adds the values of a range.
type adding uint8

const (
	addsNothing adding = iota
	addsAll            // sum_over_time
	addsToMean         // avg_over_time
)

// uniformSums is a sum or an average of ranges of uniform samples.
func (e *Evaluator) uniformSums(times []int64, values []float64, out []float64) int {
	w := e.uniform(times)
	e.span.totals.Begin(values)
	found := 0
	for step := 0; step < len(out); {
		first, _ := w.at(step)
		_, last := w.at(step + floats.SumsAtOnce - 1)
		if step > 0 && step+floats.SumsAtOnce <= len(out) && first >= 0 && last <= len(values) && w.size > 1 && e.sumsOf(values, first, w.stride, w.size, out[step:]) {
			for range floats.SumsAtOnce {
				e.visit(w.size, min(w.size, w.stride))
			}
			found += floats.SumsAtOnce
			step += floats.SumsAtOnce
		} else {
			p := w.place(step, len(values))
			out[step] = block.Absent
			if v, ok := e.at(step, times, values, &p); ok {
				out[step] = v
				found++
			}
			step++
		}
		if e.stopped() {
			return found // the result is not used
		}
	}
	return found
}

// sumsOf sets the results of some steps. It reports false if one is not finite: the function itself
// knows what to do.
func (e *Evaluator) sumsOf(values []float64, first, stride, size int, out []float64) bool {
	var sums [floats.SumsAtOnce]floats.Sum
	if t := &e.span.totals; t.Exact {
		for k := range sums {
			sums[k] = t.Of(first+k*stride, first+k*stride+size)
		}
		e.setSums(out, sums, size)
		return true
	}
	begin := 0
	if e.Function.adds == addsToMean {
		for k := range sums {
			sums[k].Value = values[first+k*stride]
		}
		begin = 1
	}
	rows := [floats.SumsAtOnce][]float64{}
	for k := range rows {
		rows[k] = values[first+k*stride+begin : first+k*stride+size]
	}
	sums = floats.SumRows(sums, rows, e.span.bound)
	for _, s := range sums {
		if !s.IsFinite() {
			return false
		}
	}
	e.setSums(out, sums, size)
	return true
}

// setSums sets the results of steps from the sums of their ranges.
func (e *Evaluator) setSums(out []float64, sums [floats.SumsAtOnce]floats.Sum, size int) {
	count := float64(size)
	for k, s := range sums {
		if e.Function.adds == addsToMean {
			out[k] = s.Value/count + s.Rest/count
		} else {
			out[k] = s.Value + s.Rest
		}
	}
}
