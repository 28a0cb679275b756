package rangeql

import (
	"sort"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
)

// sampleCount counts samples as the library's statistics do.
type sampleCount struct {
	total int64 // seen, by all steps
	read  int64 // seen, each once
	most  int   // held for one step
}

func (c *sampleCount) add(o sampleCount) {
	c.total += o.total
	c.read += o.read
	c.most = max(c.most, o.most)
}

// evaluator evaluates one series after the other. It is used by one goroutine.
type evaluator struct {
	plan   *plan
	count  sampleCount
	times  []int64 // without stale markers
	values []float64
	resets []int
	span   span

	ended   func() bool // the query; looked at after each visitsPerLook samples
	visited int
}

// visitsPerLook is how many samples a function visits before it checks again whether the query has
// ended: some milliseconds.
const visitsPerLook = 1 << 20

// series appends the points of a series to out, one for each step that has a result.
func (e *evaluator) series(times []int64, values []float64, out []promql.FPoint) []promql.FPoint {
	if e.plan.function == nil {
		return e.samples(times, values, out)
	}
	times, values = e.fresh(times, values)
	return e.ranges(times, values, out)
}

// samples takes the newest sample of each step, if it is within the lookback and not a stale
// marker.
func (e *evaluator) samples(times []int64, values []float64, out []promql.FPoint) []promql.FPoint {
	p := e.plan
	next := 0 // the first sample after the step
	before := len(out)
	for step := range p.steps {
		at := p.time(step)
		end := at - p.offset
		if next < len(times) && times[next] <= end {
			next = advance(times, next, end)
		}
		if next == 0 || times[next-1] <= end-p.window || value.IsStaleNaN(values[next-1]) {
			continue
		}
		out = append(out, promql.FPoint{T: at, F: values[next-1]})
	}
	n := int64(len(out) - before)
	e.count.total += n
	e.count.read += n
	return out
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

// fresh removes stale markers. Most series have none and are not copied.
func (e *evaluator) fresh(times []int64, values []float64) ([]int64, []float64) {
	i := 0
	for i < len(values) && !value.IsStaleNaN(values[i]) {
		i++
	}
	if i == len(values) {
		return times, values
	}
	e.times, e.values = append(e.times[:0], times[:i]...), append(e.values[:0], values[:i]...)
	for ; i < len(values); i++ {
		if !value.IsStaleNaN(values[i]) {
			e.times, e.values = append(e.times, times[i]), append(e.values, values[i])
		}
	}
	return e.times, e.values
}

// ranges calls the function for each step that has samples in its range.
func (e *evaluator) ranges(times []int64, values []float64, out []promql.FPoint) []promql.FPoint {
	p := e.plan
	if p.function.resets {
		e.findResets(values)
	}
	e.span = span{seconds: p.seconds}
	s := &e.span
	first, next := 0, 0 // samples in the range
	firstReset, nextReset := 0, 0
	for step := range p.steps {
		at := p.time(step)
		s.end = at - p.offset
		s.start = s.end - p.window
		seen := next
		next = advance(times, next, s.end)
		first = advance(times, first, s.start)
		if first == next {
			continue
		}
		e.count.total += int64(next - first)
		e.count.read += int64(next - max(first, seen))
		e.count.most = max(e.count.most, next-first)
		s.times, s.values, s.first = times[first:next], values[first:next], first
		if e.visited += next - first; e.visited > visitsPerLook {
			if e.visited = 0; e.ended() {
				return out // the result is not used
			}
		}
		if p.function.resets {
			for firstReset < len(e.resets) && e.resets[firstReset] <= first {
				firstReset++
			}
			nextReset = max(nextReset, firstReset)
			for nextReset < len(e.resets) && e.resets[nextReset] < next {
				nextReset++
			}
			s.resets = e.resets[firstReset:nextReset]
		}
		if f, ok := p.function.eval(s); ok {
			out = append(out, promql.FPoint{T: at, F: f})
		}
	}
	return out
}

func (e *evaluator) findResets(values []float64) {
	e.resets = e.resets[:0]
	for i := 1; i < len(values); i++ {
		if values[i] < values[i-1] {
			e.resets = append(e.resets, i)
		}
	}
}
