package rangefn

import (
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// fit is what a function returns of a line through the samples of a range.
type fit uint8

const (
	noFit fit = iota
	slope
	prediction
)

// uniformFits is deriv or predict_linear of ranges of uniform samples. The times of all ranges within the
// samples have the same sums.
func (e *Evaluator) uniformFits(times []int64, values []float64, out []float64) int {
	w := e.uniform(times)
	e.span.totals.Begin(values)
	found := 0
	for step := 0; step < len(out); {
		if w.inside(step, floats.SumsAtOnce, len(values)) == floats.SumsAtOnce && step+floats.SumsAtOnce <= len(out) && e.fitsOf(times, values, w, step, out[step:]) {
			e.visitSteps(floats.SumsAtOnce, w.size, min(w.size, w.stride))
			if step == 0 { // All samples of the first range are new.
				e.Count.Read += int64(w.size - min(w.size, w.stride))
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

// fitsOf sets the results of some steps. It reports false if the function itself has to be called
// first: the sums of the times are not those of the step or the series before, all values of a range
// are the same, or a sum is not finite.
func (e *Evaluator) fitsOf(times []int64, values []float64, w uniform, step int, out []float64) bool {
	s := &e.span
	first, _ := w.at(step)
	if w.size < 2 || s.pattern != e.patternOf(times, first, w.size, step) {
		return false
	}
	var rows [floats.SumsAtOnce][]float64
	for k := range rows {
		rows[k] = values[first+k*w.stride : first+k*w.stride+w.size]
		if isConstant(rows[k]) {
			return false
		}
	}
	y := e.sumsOfRows(rows, first, w)
	xy := floats.SumProducts(rows, s.scratch, s.productBound())
	for k := range rows {
		if !y[k].IsFinite() || !xy[k].IsFinite() {
			return false
		}
	}
	for k := range rows {
		rise, intercept := leastSquares(s.x, s.x2, y[k], xy[k], w.size)
		if out[k] = rise; e.Function.fits == prediction {
			out[k] = rise*e.Constants[0][step+k] + intercept
		}
	}
	return true
}

// sumsOfRows returns the sums of ranges, of which the first begins with that value.
func (e *Evaluator) sumsOfRows(rows [floats.SumsAtOnce][]float64, first int, w uniform) (sums [floats.SumsAtOnce]floats.Sum) {
	if !e.span.totals.Exact {
		return floats.SumRows(sums, rows, e.span.bound)
	}
	for k := range sums {
		sums[k] = e.span.totals.Of(first+k*w.stride, first+k*w.stride+w.size)
	}
	return sums
}

// patternOf returns the pattern of the range of a step, from a sample on.
func (e *Evaluator) patternOf(times []int64, first, size, step int) pattern {
	from := int64(0)
	if e.Function.fits == prediction {
		from = times[first] - e.Grid.Time(step)
	}
	return pattern{first: from, last: from + int64(size-1)*e.distance, samples: size}
}
