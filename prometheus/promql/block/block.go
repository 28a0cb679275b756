// Package block has the values that PromQL expressions have at the steps of a grid, and their memory, which
// is taken from the budget of a query. It evaluates nothing.
package block

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
)

// Absent is the value of a step without one. It is Prometheus' stale marker: selectors leave that
// out, and no arithmetic makes it.
//
//nolint:gochecknoglobals // a constant that the language cannot express.
var Absent = math.Float64frombits(value.StaleNaN)

// IsAbsent reports whether a step has no value.
func IsAbsent(v float64) bool { return math.Float64bits(v) == value.StaleNaN }

// A Block is the value of an expression: series with a value at some of the steps of a grid. It does
// not change once it is evaluated.
type Block struct {
	Grid

	Series []Series
	// Samples is how many samples the library would hold for it.
	Samples int

	Memory   Arena
	Borrowed []*Block // whose values this block shows
	Users    int      // operators that still need it
}

// A Series is one row of a block.
type Series struct {
	Labels labels.Labels
	// DropName means that the name of the metric goes in the end (DelayedNames).
	DropName bool
	// From is the step of values[0]. Steps before and after have no value.
	From   int
	Values []float64
	// Hists are nil, or as long as values. A step with a histogram has an absent value.
	Hists []*histogram.FloatHistogram
}

// To returns the step after the last value.
func (s *Series) To() int { return s.From + len(s.Values) }

// At returns the float of a step.
func (s *Series) At(step int) (float64, bool) {
	if step < s.From || step >= s.To() {
		return 0, false
	}
	v := s.Values[step-s.From]
	return v, !IsAbsent(v)
}

// Hist returns the histogram of a step, nil if it has none.
func (s *Series) Hist(step int) *histogram.FloatHistogram {
	if s.Hists == nil || step < s.From || step >= s.To() {
		return nil
	}
	return s.Hists[step-s.From]
}

// Has reports whether a step has a value.
func (s *Series) Has(step int) bool {
	_, ok := s.At(step)
	return ok || s.Hist(step) != nil
}

// First returns the first step with a value; there must be one.
func (s *Series) First() int {
	step := s.From
	for !s.Has(step) {
		step++
	}
	return step
}

// Samples counts as the library does.
func (s *Series) Samples() int {
	n := CountPresent(s.Values)
	for _, h := range s.Hists {
		if h != nil {
			n += HistogramSamples(h)
		}
	}
	return n
}

// HistogramSamples is for how many samples the library counts a histogram: its bytes and time, in
// units of 16 bytes.
func HistogramSamples(h *histogram.FloatHistogram) int { return (h.Size() + 8) / 16 }

// CountPresent returns how many steps have a value.
func CountPresent(values []float64) int {
	n := 0
	for _, v := range values {
		if v == v || !IsAbsent(v) {
			n++
		}
	}
	return n
}

// Fill sets all values to one.
func Fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}

// Trim leaves out the steps at both ends that have no value.
func (s *Series) Trim() {
	begin, end := 0, len(s.Values)
	empty := func(i int) bool { return IsAbsent(s.Values[i]) && (s.Hists == nil || s.Hists[i] == nil) }
	for begin < end && empty(begin) {
		begin++
	}
	for end > begin && empty(end-1) {
		end--
	}
	s.From += begin
	s.Values = s.Values[begin:end]
	if s.Hists != nil {
		s.Hists = s.Hists[begin:end]
	}
}

// Common returns the steps in which both may have values, and their values there.
func Common(l, r *Series) (from int, lv, rv []float64) {
	from = max(l.From, r.From)
	to := min(l.To(), r.To())
	if to <= from {
		return from, nil, nil
	}
	return from, l.Values[from-l.From : to-l.From], r.Values[from-r.From : to-r.From]
}

// Overlap reports whether two series have values at the same step.
func Overlap(l, r *Series) bool {
	for step := max(l.From, r.From); step < min(l.To(), r.To()); step++ {
		if l.Has(step) && r.Has(step) {
			return true
		}
	}
	return false
}

// SamplesOf is for how many samples the library counts the points of a series.
func SamplesOf(s promql.Series) int {
	n := len(s.Floats)
	for _, p := range s.Histograms {
		n += HistogramSamples(p.H)
	}
	return n
}

// Borrow lets a block show values of another, which stays in memory for as long.
func (b *Block) Borrow(in *Block) {
	in.Users++
	b.Borrowed = append(b.Borrowed, in)
}
