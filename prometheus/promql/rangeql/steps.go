package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// steps are what an evaluator evaluates, and what is counted of it.
type steps struct {
	*windows
	count           sampleCount
	hists           []*histogram.FloatHistogram // the result; nil: none
	refusedQuantile float64                     // the newest that was warned about

	ended   func() bool // the query; looked at after each visitsPerLook samples
	visited int
}

// sampleCount counts samples as the library's statistics do.
type sampleCount struct {
	total int64 // seen, by all steps
	read  int64 // seen, each once
	most  int   // held for one step
	kept  int   // held until the query ends
}

func (c *sampleCount) add(o sampleCount) {
	c.total += o.total
	c.read += o.read
	c.most = max(c.most, o.most)
	c.kept += o.kept
}

// visitsPerLook is how many samples a function visits before it checks again whether the query has
// ended: some milliseconds.
const visitsPerLook = 1 << 20

// sees counts the samples of a step, and those that no step had before.
func (s *steps) sees(samples, fresh int) { s.seesSteps(1, samples, fresh) }

// seesSteps counts those of n steps.
func (s *steps) seesSteps(n, samples, fresh int) {
	s.count.total += int64(n * samples)
	s.count.read += int64(n * fresh)
	s.visited += n * samples
	if n > 0 {
		s.count.most = max(s.count.most, samples)
	}
}

// checkQuantile warns about the quantile of a step with samples.
func (s *steps) checkQuantile(q float64) {
	if floats.IsNoQuantile(q) && math.Float64bits(q) != math.Float64bits(s.refusedQuantile) {
		s.refusedQuantile = q
		s.notes.Warn(annotations.NewInvalidQuantileWarning(q, s.argument))
	}
}

// stopped reports whether the query has ended. It looks after some milliseconds.
func (s *steps) stopped() bool {
	if s.visited <= visitsPerLook {
		return false
	}
	s.visited = 0
	return s.ended()
}
