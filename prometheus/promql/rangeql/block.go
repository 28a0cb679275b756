package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
)

// absent is the value of a step without one. It is Prometheus' stale marker: selectors leave that
// out, and no arithmetic makes it.
//
//nolint:gochecknoglobals // a constant that the language cannot express.
var absent = math.Float64frombits(value.StaleNaN)

func isAbsent(v float64) bool { return math.Float64bits(v) == value.StaleNaN }

// A block is the value of an expression: series with a value at some of the steps of a grid. Nobody
// changes it once it is evaluated.
type block struct {
	grid

	series []series
	// samples is how many samples the library would hold for it.
	samples int

	memory   arena
	borrowed []*block // whose values this block shows
	users    int      // operators that still need it
}

// A series is one row of a block.
type series struct {
	labels labels.Labels
	// dropName means that the name of the metric goes in the end (DelayedNames).
	dropName bool
	// from is the step of values[0]. Steps before and after have no value.
	from   int
	values []float64
	// hists are nil, or as long as values. A step with a histogram has an absent value.
	hists []*histogram.FloatHistogram
}

// to returns the step after the last value.
func (s *series) to() int { return s.from + len(s.values) }

// at returns the float of a step.
func (s *series) at(step int) (float64, bool) {
	if step < s.from || step >= s.to() {
		return 0, false
	}
	v := s.values[step-s.from]
	return v, !isAbsent(v)
}

// hist returns the histogram of a step, nil if it has none.
func (s *series) hist(step int) *histogram.FloatHistogram {
	if s.hists == nil || step < s.from || step >= s.to() {
		return nil
	}
	return s.hists[step-s.from]
}

// has reports whether a step has a value.
func (s *series) has(step int) bool {
	_, ok := s.at(step)
	return ok || s.hist(step) != nil
}

// first returns the first step with a value; there must be one.
func (s *series) first() int {
	step := s.from
	for !s.has(step) {
		step++
	}
	return step
}

// samples counts as the library does.
func (s *series) samples() int {
	n := countPresent(s.values)
	for _, h := range s.hists {
		if h != nil {
			n += histogramSamples(h)
		}
	}
	return n
}

// histogramSamples is for how many samples the library counts a histogram: its bytes and time, in
// units of 16 bytes.
func histogramSamples(h *histogram.FloatHistogram) int { return (h.Size() + 8) / 16 }

func countPresent(values []float64) int {
	n := 0
	for _, v := range values {
		if v == v || !isAbsent(v) {
			n++
		}
	}
	return n
}

// fill sets all values to one.
func fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}

// trim leaves out the steps at both ends that have no value.
func (s *series) trim() {
	begin, end := 0, len(s.values)
	empty := func(i int) bool { return isAbsent(s.values[i]) && (s.hists == nil || s.hists[i] == nil) }
	for begin < end && empty(begin) {
		begin++
	}
	for end > begin && empty(end-1) {
		end--
	}
	s.from += begin
	s.values = s.values[begin:end]
	if s.hists != nil {
		s.hists = s.hists[begin:end]
	}
}

// common returns the steps in which both may have values, and their values there.
func common(l, r *series) (from int, lv, rv []float64) {
	from = max(l.from, r.from)
	to := min(l.to(), r.to())
	if to <= from {
		return from, nil, nil
	}
	return from, l.values[from-l.from : to-l.from], r.values[from-r.from : to-r.from]
}

// overlap reports whether two series have values at the same step.
func overlap(l, r *series) bool {
	for step := max(l.from, r.from); step < min(l.to(), r.to()); step++ {
		if l.has(step) && r.has(step) {
			return true
		}
	}
	return false
}

// samplesOf is for how many samples the library counts the points of a series.
func samplesOf(s promql.Series) int {
	n := len(s.Floats)
	for _, p := range s.Histograms {
		n += histogramSamples(p.H)
	}
	return n
}

// borrow lets a block show values of another, which stays in memory for as long.
func (b *block) borrow(in *block) {
	in.users++
	b.borrowed = append(b.borrowed, in)
}
