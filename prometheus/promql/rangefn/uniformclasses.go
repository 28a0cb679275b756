package rangefn

import (
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// mostClasses is into how many classes steps are divided at most, and fewestInClass how many steps
// each has at least.
const (
	mostClasses   = 32
	fewestInClass = 4
)

// A class is each nth step of a query, so that the distance of its steps is a multiple of that of the
// samples.
type class struct {
	Windows
	out []float64
}

// uniformRanges computes the ranges of uniform samples where there is a loop for the function; else ok is
// false.
func (e *Evaluator) uniformRanges(times []int64, values []float64, out []float64) (found int, ok bool) {
	if e.distance <= 0 || e.Fixed || !e.hasUniformLoop() {
		return 0, false
	}
	n := int(e.distance / block.CommonDivisor(e.Grid.Interval, e.distance))
	switch {
	case n == 1:
		return e.uniformLoop(times, values, out), true
	case n > mostClasses || len(out) < n*fewestInClass:
		return 0, false
	}
	read := e.Count.Read
	all := e.Windows
	for first := range n {
		e.Windows = e.class.of(all, first, n)
		part := e.class.out
		found += e.uniformLoop(times, values, part)
		for i, v := range part {
			out[first+i*n] = v
		}
	}
	e.Windows = all
	e.Count.Read = read + e.distinct(times) // a class does not know what the others read
	return found, true
}

// hasUniformLoop reports whether uniformLoop knows the function.
func (e *Evaluator) hasUniformLoop() bool {
	f := e.Function
	return f.rise != noRise && len(e.resets) == 0 || f.adds != addsNothing || f.fits != noFit
}

// uniformLoop computes ranges of uniform samples whose distance divides that of the steps.
func (e *Evaluator) uniformLoop(times []int64, values []float64, out []float64) int {
	switch {
	case e.Function.rise != noRise:
		return e.uniformRise(times, values, out)
	case e.Function.adds != addsNothing:
		return e.uniformSums(times, values, out)
	default:
		return e.uniformFits(times, values, out)
	}
}

// of returns the windows of each nth step from one on.
func (c *class) of(all *Windows, first, n int) *Windows {
	g := all.Grid
	constants := c.Constants[:0]
	c.Windows = *all
	c.Grid = block.Grid{Start: g.Time(first), Interval: g.Interval * int64(n), Steps: (g.Steps - first + n - 1) / n, Until: g.Until}
	if cap(c.out) < c.Grid.Steps {
		c.out = make([]float64, c.Grid.Steps)
	}
	c.out = c.out[:c.Grid.Steps]
	for i, a := range all.Constants {
		if i == cap(constants) {
			constants = append(constants, nil)
		}
		constants = constants[:i+1]
		constants[i] = constants[i][:0]
		for step := first; step < g.Steps; step += n {
			constants[i] = append(constants[i], a[step])
		}
	}
	c.Constants = constants
	return &c.Windows
}

// distinct returns how many samples the steps see, each once.
func (e *Evaluator) distinct(times []int64) int64 {
	next, read := 0, 0
	for step := range e.Grid.Steps {
		start, end := e.Window(step)
		seen := next
		first := e.countBefore(times, start)
		next = e.countBefore(times, end)
		if first < next {
			read += next - max(first, seen)
		}
	}
	return int64(read)
}

// countBefore returns how many of the uniform times are not after t.
func (e *Evaluator) countBefore(times []int64, t int64) int {
	return within(countUntil(t-times[0], e.distance), len(times))
}
