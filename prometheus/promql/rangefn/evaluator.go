package rangefn

import (
	"sort"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// An Evaluator evaluates one series after the other. It is used by one goroutine.
type Evaluator struct {
	steps
	times  []int64 // without stale markers
	values []float64
	// resets are the indexes of values below the one before. distance is that between all times, 0
	// if it is not always the same.
	resets   []int
	distance int64
	span     span
	class    class
	points   *pointEvaluator // nil: not needed yet
}

// NewEvaluator returns an evaluator of one goroutine.
func NewEvaluator(w *Windows) *Evaluator { return &Evaluator{steps: steps{Windows: w}} }

// Evaluate computes the value of each step, and returns for how many samples they count. Histograms
// are in hists.
func (e *Evaluator) Evaluate(ls labels.Labels, c columns.Column, out []float64) int {
	e.Hists = nil
	if len(c.Summaries) > 0 {
		return e.summaries(c.Summaries, out)
	}
	if e.Smooth || len(c.Histograms) > 0 || e.Earlier > 0 {
		if e.points == nil {
			e.points = &pointEvaluator{steps: &e.steps}
		}
		return e.points.evaluate(ls, c, out)
	}
	if e.Function == nil {
		return e.samples(c.Times, c.Values, out)
	}
	return e.ranges(c, out)
}

// samples takes the newest sample of each step, if it is within the lookback and not a stale
// marker.
func (e *Evaluator) samples(times []int64, values []float64, out []float64) int {
	next, found := 0, 0 // next is the first sample after the step
	for step := range out {
		start, end := e.Window(step)
		if next < len(times) && times[next] <= end {
			next = advance(times, next, end)
		}
		if next == 0 || times[next-1] <= start || value.IsStaleNaN(values[next-1]) {
			out[step] = block.Absent
			continue
		}
		found++
		if e.Stamps {
			out[step] = float64(times[next-1]) / 1000
		} else {
			out[step] = values[next-1]
		}
	}
	e.Count.Total += int64(found)
	e.Count.Read += int64(found)
	return found
}

// advance returns the index of the first time after t, which is not before i.
func advance(times []int64, i int, t int64) int {
	const near = 8
	for range near {
		if i == len(times) || times[i] > t {
			return i
		}
		i++
	}
	return i + sort.Search(len(times)-i, func(j int) bool { return times[i+j] > t })
}

// look finds out whether samples have stale markers, and, if the function asks for these, where
// values fall.
func (e *Evaluator) look(values []float64) (stale bool) {
	e.resets = e.resets[:0]
	if len(values) == 0 {
		return false
	}
	if !e.Function.resets {
		return hasStale(values)
	}
	if value.IsStaleNaN(values[0]) {
		return true
	}
	for i := nextFall(values, 1); i < len(values); i = nextFall(values, i+1) {
		if values[i] < values[i-1] {
			e.resets = append(e.resets, i)
		} else if value.IsStaleNaN(values[i]) {
			return true
		}
	}
	return false
}

// nextFall returns the first index from i on, which is at least 1, of a value that is not as great as
// the one before, or is NaN, or follows NaN; the number of values if there is none.
func nextFall(values []float64, i int) int {
	for i+4 <= len(values) {
		v := values[i-1 : i+4 : i+4]
		if !(v[1] >= v[0] && v[2] >= v[1] && v[3] >= v[2] && v[4] >= v[3]) {
			break
		}
		i += 4
	}
	for i < len(values) && values[i] >= values[i-1] {
		i++
	}
	return i
}

// hasStale reports whether one of the values is a stale marker.
func hasStale(values []float64) bool {
	for _, v := range values {
		if v != v && value.IsStaleNaN(v) {
			return true
		}
	}
	return false
}

// uniformDistance returns the distance between times, 0 if it is not always the same.
func uniformDistance(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	distance, before := times[1]-times[0], times[0]-(times[1]-times[0])
	for _, t := range times {
		if t-before != distance {
			return 0
		}
		before = t
	}
	return distance
}

// withoutStale removes stale markers.
func (e *Evaluator) withoutStale(times []int64, values []float64) ([]int64, []float64) {
	e.times, e.values = e.times[:0], e.values[:0]
	for i, v := range values {
		if !value.IsStaleNaN(v) {
			e.times, e.values = append(e.times, times[i]), append(e.values, v)
		}
	}
	return e.times, e.values
}

// ranges calls the function for each step that has samples in its range.
func (e *Evaluator) ranges(c columns.Column, out []float64) int {
	times, values := c.Times, c.Values
	e.distance = c.Distance
	if e.look(values) {
		times, values = e.withoutStale(times, values)
		e.look(values)
		e.distance = 0
	}
	if e.distance == 0 {
		e.distance = uniformDistance(times)
	}
	e.begin(values)
	if found, ok := e.uniformRanges(times, values, out); ok {
		return found
	}
	p := place{}
	found := 0
	for step := range out {
		out[step] = block.Absent
		if f, ok := e.at(step, times, values, &p); ok {
			out[step] = f
			found++
		}
		if e.stopped() {
			return found // the result is not used
		}
	}
	return found
}

// begin prepares the span for another series.
func (e *Evaluator) begin(values []float64) {
	s := &e.span
	s.series, s.width, s.regular, s.stretch = values, e.Seconds, e.distance > 0, stretch{}
	if e.Function.begin != nil {
		e.Function.begin(s)
	}
}

// A place is where the ranges of steps are among samples.
type place struct {
	first, next           int // samples in the range
	firstReset, nextReset int
}

// at calls the function for a step.
func (e *Evaluator) at(step int, times []int64, values []float64, p *place) (float64, bool) {
	s := &e.span
	s.start, s.end = e.Window(step)
	s.at = e.Grid.Time(step)
	seen := p.next
	p.next = advance(times, p.next, s.end)
	p.first = advance(times, p.first, s.start)
	if p.first == p.next {
		return 0, false
	}
	e.visit(p.next-p.first, p.next-max(p.first, seen))
	s.times, s.values, s.first = times[p.first:p.next], values[p.first:p.next], p.first
	if e.Function.resets {
		for p.firstReset < len(e.resets) && e.resets[p.firstReset] <= p.first {
			p.firstReset++
		}
		p.nextReset = max(p.nextReset, p.firstReset)
		for p.nextReset < len(e.resets) && e.resets[p.nextReset] < p.next {
			p.nextReset++
		}
		s.resets = e.resets[p.firstReset:p.nextReset]
	}
	if len(e.Constants) > 0 {
		s.args = s.args[:0]
		for _, a := range e.Constants {
			s.args = append(s.args, a[step])
		}
	}
	if e.Function.quantile {
		e.checkQuantile(s.args[0])
	}
	return e.Function.eval(s)
}
