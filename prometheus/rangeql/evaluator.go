package rangeql

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
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

// An evaluator evaluates one series after the other. It is used by one goroutine.
type evaluator struct {
	*windows
	count  sampleCount
	times  []int64 // without stale markers
	values []float64
	resets []int
	span   span
	hists  []*histogram.FloatHistogram // the result; nil: none
	mixture

	ended   func() bool // the query; looked at after each visitsPerLook samples
	visited int
}

func newEvaluator(l *leaf) evaluator { return evaluator{windows: &l.windows} }

// visitsPerLook is how many samples a function visits before it checks again whether the query has
// ended: some milliseconds.
const visitsPerLook = 1 << 20

// evaluate computes the value of each step, and returns for how many samples they count. Histograms
// are in hists.
func (e *evaluator) evaluate(q *evaluation, ls labels.Labels, c Column, out []float64) int {
	e.hists = nil
	if len(c.Histograms) > 0 {
		return e.mixed(q, ls, c, out)
	}
	if e.function == nil {
		return e.samples(c.Times, c.Values, out)
	}
	times, values := e.fresh(c.Times, c.Values)
	return e.ranges(times, values, out)
}

// window returns the times around the samples that count at a step: after start, not after end.
func (w *windows) window(step int) (start, end int64) {
	if w.fixed {
		step = 0
	}
	end = w.grid.time(step) - w.offset
	return end - w.length, end
}

// samples takes the newest sample of each step, if it is within the lookback and not a stale
// marker.
func (e *evaluator) samples(times []int64, values []float64, out []float64) int {
	next, found := 0, 0 // next is the first sample after the step
	for step := range out {
		start, end := e.window(step)
		if next < len(times) && times[next] <= end {
			next = advance(times, next, end)
		}
		if next == 0 || times[next-1] <= start || value.IsStaleNaN(values[next-1]) {
			out[step] = absent
			continue
		}
		found++
		if e.stamps {
			out[step] = float64(times[next-1]) / 1000
		} else {
			out[step] = values[next-1]
		}
	}
	e.count.total += int64(found)
	e.count.read += int64(found)
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
func (e *evaluator) ranges(times []int64, values []float64, out []float64) int {
	if e.function.resets {
		e.findResets(values)
	}
	e.span = span{seconds: e.seconds, args: e.span.args[:0], scratch: e.span.scratch}
	s := &e.span
	first, next, found := 0, 0, 0 // samples in the range
	firstReset, nextReset := 0, 0
	for step := range out {
		out[step] = absent
		s.start, s.end = e.window(step)
		s.at = e.grid.time(step)
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
				return found // the result is not used
			}
		}
		if e.function.resets {
			for firstReset < len(e.resets) && e.resets[firstReset] <= first {
				firstReset++
			}
			nextReset = max(nextReset, firstReset)
			for nextReset < len(e.resets) && e.resets[nextReset] < next {
				nextReset++
			}
			s.resets = e.resets[firstReset:nextReset]
		}
		if len(e.constants) > 0 {
			s.args = s.args[:0]
			for _, a := range e.constants {
				s.args = append(s.args, a[step])
			}
		}
		if f, ok := e.function.eval(s); ok {
			out[step] = f
			found++
		}
	}
	return found
}

func (e *evaluator) findResets(values []float64) {
	e.resets = e.resets[:0]
	for i := 1; i < len(values); i++ {
		if values[i] < values[i-1] {
			e.resets = append(e.resets, i)
		}
	}
}
