package rangefn

import (
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// uniformRise is rate or increase of a counter that never falls, with uniform samples: all ranges within
// the samples are stretched alike.
func (e *Evaluator) uniformRise(times []int64, values []float64, out []float64) int {
	w := e.uniform(times)
	found, factor := 0, 0.0
	s := &e.span
	s.stretch = stretch{} // factor is that of a step of these
	for step := 0; step < len(out); step++ {
		if w.size > 1 && s.stretch.samples == w.size && s.stretch.toStart <= s.stretch.length {
			n := w.inside(step, len(out)-step, len(values))
			n = e.stretched(values, w, factor, out[step:step+n], step)
			found += n
			if step += n; step == len(out) {
				break
			}
		}
		p := w.place(step, len(values))
		out[step] = block.Absent
		if f, ok := e.at(step, times, values, &p); ok {
			out[step] = f
			found++
		}
		if factor = s.stretch.factor; e.Function.rise == perSecond {
			factor = s.stretch.rate
		}
		if e.stopped() {
			return found // the result is not used
		}
	}
	return found
}

// stretched sets the results of steps whose ranges are within the samples, as long as the value
// before is greater than the rise since, which needs no look at zero. It returns how many it set.
func (e *Evaluator) stretched(values []float64, w uniform, factor float64, out []float64, step int) int {
	first, next := w.at(step)
	n := 0
	for ; n < len(out); n++ {
		before := values[first]
		rise := values[next-1] - before
		if !(before >= rise) {
			break
		}
		out[n] = rise * factor
		first, next = first+w.stride, next+w.stride
	}
	e.visitSteps(n, w.size, min(w.size, w.stride))
	return n
}
