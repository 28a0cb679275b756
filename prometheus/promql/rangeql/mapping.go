package rangeql

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// A mapping computes the values of a series from those of another, step by step.
type mapping struct {
	// apply changes the values of consecutive steps in place. args[i][0] is the value of the i-th
	// argument at the first of them.
	apply func(values []float64, args [][]float64)
	// histogram returns what becomes of a histogram of a row, args[i][step] being the value of the i-th
	// argument; nil: histograms are left out.
	histogram func(row int, h *histogram.FloatHistogram, args [][]float64, step int) result
	// only means that numbers are left out. refused, if set, records one of them.
	only    bool
	refused func(row, step int)
	notes   *annotation.Notes // may be nil
	args    []*node           // scalars
	// argsFirst means that the library evaluates the arguments before the vector.
	argsFirst bool
	// drops means that the name of the metric is dropped.
	drops bool

	constants [][]float64 // the values of args, of a mapping in a leaf
}

// all maps a series, the one of a row, in place.
func (m *mapping) all(row int, s *block.Series, args [][]float64) {
	switch {
	case m.only:
		m.refuse(row, s)
		block.Fill(s.Values, block.Absent)
	case len(args) > 0 && s.From > 0:
		at := make([][]float64, len(args))
		for k := range args {
			at[k] = args[k][s.From:]
		}
		m.apply(s.Values, at)
	default:
		m.apply(s.Values, args)
	}
	if s.Hists == nil {
		return
	}
	for i, h := range s.Hists {
		s.Hists[i] = nil
		if h == nil || m.histogram == nil {
			continue
		}
		switch r := m.histogram(row, h, args, s.From+i); {
		case r.none || !r.keep:
		case r.histogram != nil:
			s.Hists[i] = r.histogram
		default:
			s.Values[i] = r.number
		}
	}
}

// refuse records the numbers of a series that are left out.
func (m *mapping) refuse(row int, s *block.Series) {
	if m.refused == nil {
		return
	}
	for i, v := range s.Values {
		if !block.IsAbsent(v) {
			m.refused(row, s.From+i)
		}
	}
}
