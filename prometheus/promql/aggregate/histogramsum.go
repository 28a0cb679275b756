package aggregate

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// A histogramSum is the sum or the average of the histograms of a group at a step. Its arithmetic is
// that of the library.
type histogramSum struct {
	sum, mean, rest *histogram.FloatHistogram // rest is Kahan's compensation
	count           float64
	incremental     bool // the mean; the sum would overflow
	incompatible    bool // some histograms do not fit; there is no result
	floats          bool // there are numbers as well, from before the histograms were incompatible; there is no result
	reset, notReset bool // hints that were seen
}

// addHistograms adds the histograms of a series to the cells of the same steps.
func (g *group) addHistograms(a *Aggregation, s *block.Series, name string) {
	for i, h := range s.Hists {
		if h == nil {
			continue
		}
		step := s.From + i
		switch a.Op {
		case parser.COUNT, parser.GROUP:
			g.cells[step].count++
		case parser.SUM, parser.AVG:
			g.histogramSum(step).add(a, h, g.cells[step].count > 0, name)
		default:
			a.Warn(annotations.NewHistogramIgnoredInAggregationInfo(parser.ItemTypeStr[a.Op], a.Position))
		}
	}
}

func (g *group) histogramSum(step int) *histogramSum {
	if g.sums == nil {
		g.sums = map[int]*histogramSum{}
	}
	if g.sums[step] == nil {
		g.sums[step] = &histogramSum{}
	}
	return g.sums[step]
}

// add adds a histogram. floats means that the step has numbers already.
func (s *histogramSum) add(a *Aggregation, h *histogram.FloatHistogram, floats bool, name string) {
	switch {
	case s.incompatible:
		return
	case floats && s.sum == nil:
		s.floats = true
		return
	}
	s.count++
	switch h.CounterResetHint {
	case histogram.CounterReset:
		s.reset = true
	case histogram.NotCounterReset:
		s.notReset = true
	}
	if s.sum == nil {
		s.sum = h.Copy()
		return
	}
	var reconciled bool
	var err error
	if a.Op == parser.SUM {
		s.rest, _, reconciled, err = s.sum.KahanAdd(h, s.rest)
	} else {
		reconciled, err = s.average(a, h)
	}
	if err != nil {
		s.incompatible, s.floats = true, floats
		if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
			a.Warn(annotations.NewMixedExponentialCustomHistogramsWarning(name, a.Position))
		}
		return
	}
	if reconciled {
		a.Warn(annotations.NewMismatchedCustomBucketsHistogramsInfo(a.Position, annotations.HistogramAgg))
	}
}

// average adds a histogram to an average, which becomes incremental when the sum overflows.
func (s *histogramSum) average(a *Aggregation, h *histogram.FloatHistogram) (reconciled bool, err error) {
	if !s.incremental {
		sum := s.sum.Copy()
		var rest *histogram.FloatHistogram
		if s.rest != nil {
			rest = s.rest.Copy()
		}
		rest, _, reconciled, err = sum.KahanAdd(h, rest)
		if err != nil {
			return reconciled, err
		}
		if !sum.HasOverflow() {
			s.sum, s.rest = sum, rest
			return reconciled, nil
		}
		if reconciled {
			a.Warn(annotations.NewMismatchedCustomBucketsHistogramsInfo(a.Position, annotations.HistogramAgg))
		}
		s.incremental = true
		s.mean = s.sum.Copy().Div(s.count - 1)
		if s.rest != nil {
			s.rest.Div(s.count - 1)
		}
	}
	q := (s.count - 1) / s.count
	if s.rest != nil {
		s.rest.Mul(q)
	}
	s.rest, _, reconciled, err = s.mean.Mul(q).KahanAdd(h.Copy().Div(s.count), s.rest)
	return reconciled, err
}

// result returns the histogram of a step, nil if there is none. floats means that the step has
// numbers.
func (s *histogramSum) result(a *Aggregation, floats bool) *histogram.FloatHistogram {
	switch {
	case s.sum != nil && floats && !s.incompatible, s.floats:
		a.Warn(annotations.NewMixedFloatsHistogramsAggWarning(a.Position))
		return nil
	case s.incompatible:
		return nil
	}
	h := s.sum
	switch {
	case a.Op == parser.AVG && s.incremental:
		if h = s.mean; s.rest != nil {
			h, _, _, _ = h.Add(s.rest) //nolint:dogsled // it was added before
		}
	case a.Op == parser.AVG:
		h.Div(s.count)
		if s.rest != nil {
			h, _, _, _ = h.Add(s.rest.Div(s.count)) //nolint:dogsled // it was added before
		}
	case s.rest != nil:
		h, _, _, _ = h.Add(s.rest) //nolint:dogsled // it was added before
	}
	if s.reset && s.notReset {
		a.Warn(annotations.NewHistogramCounterResetCollisionWarning(a.Position, annotations.HistogramAgg))
	}
	return h.Compact(0)
}

// histograms sets the histograms of a group, and takes back the numbers of steps that have both.
func (g *group) histograms(a *Aggregation, s *block.Series) {
	if g.sums == nil {
		return
	}
	s.Hists = make([]*histogram.FloatHistogram, len(s.Values))
	for step, sum := range g.sums {
		s.Hists[step] = sum.result(a, g.cells[step].count > 0)
		s.Values[step] = block.Absent
	}
}
