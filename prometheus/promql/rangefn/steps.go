package rangefn

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// steps are what an evaluator evaluates, and what is counted of it.
type steps struct {
	*Windows
	Count           SampleCount
	Hists           []*histogram.FloatHistogram // the result; nil: none
	refusedQuantile float64                     // the newest that was warned about

	Ended   func() bool // the query; looked at after each visitsPerLook samples
	visited int
}

// SampleCount counts samples as the library's statistics do.
type SampleCount struct {
	Total int64 // seen, by all steps
	Read  int64 // seen, each once
	Most  int   // held for one step
	Kept  int   // held until the query ends
}

// Add adds what another evaluator counted.
func (c *SampleCount) Add(o SampleCount) {
	c.Total += o.Total
	c.Read += o.Read
	c.Most = max(c.Most, o.Most)
	c.Kept += o.Kept
}

// visitsPerLook is how many samples a function visits before it checks again whether the query has
// ended: some milliseconds.
const visitsPerLook = 1 << 20

// visit counts the samples of a step, and those that no step had before.
func (s *steps) visit(samples, fresh int) { s.visitSteps(1, samples, fresh) }

// visitSteps counts those of n steps.
func (s *steps) visitSteps(n, samples, fresh int) {
	s.Count.Total += int64(n * samples)
	s.Count.Read += int64(n * fresh)
	s.visited += n * samples
	if n > 0 {
		s.Count.Most = max(s.Count.Most, samples)
	}
}

// checkQuantile warns about the quantile of a step with samples.
func (s *steps) checkQuantile(q float64) {
	if floats.IsNoQuantile(q) && math.Float64bits(q) != math.Float64bits(s.refusedQuantile) {
		s.refusedQuantile = q
		s.Warn(annotations.NewInvalidQuantileWarning(q, s.Argument))
	}
}

// stopped reports whether the query has ended. It looks after some milliseconds.
func (s *steps) stopped() bool {
	if s.visited <= visitsPerLook {
		return false
	}
	s.visited = 0
	return s.Ended()
}
