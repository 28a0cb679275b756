package operator

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// A Mapping computes the values of a series from those of another, step by step.
type Mapping struct {
	// Apply changes the values of consecutive steps in place. args[i][0] is the value of the i-th
	// argument at the first of them.
	Apply func(values []float64, args [][]float64)
	// Histogram returns what becomes of a histogram of a row, args[i][step] being the value of the i-th
	// argument; nil: histograms are left out.
	Histogram func(row int, h *histogram.FloatHistogram, args [][]float64, step int) binop.Result
	// Only means that numbers are left out. refused, if set, records one of them.
	Only    bool
	Refused func(row, step int)
	Notes   *annotation.Notes // may be nil
	Args    []*Node           // scalars
	// ArgsFirst means that the library evaluates the arguments before the vector.
	ArgsFirst bool
	// Drops means that the name of the metric is dropped.
	Drops bool

	constants [][]float64 // the values of args, of a mapping in a leaf
}

// All maps a series, the one of a row, in place.
func (m *Mapping) All(row int, s *block.Series, args [][]float64) {
	switch {
	case m.Only:
		m.refuse(row, s)
		block.Fill(s.Values, block.Absent)
	case len(args) > 0 && s.From > 0:
		at := make([][]float64, len(args))
		for k := range args {
			at[k] = args[k][s.From:]
		}
		m.Apply(s.Values, at)
	default:
		m.Apply(s.Values, args)
	}
	if s.Hists == nil {
		return
	}
	for i, h := range s.Hists {
		s.Hists[i] = nil
		if h == nil || m.Histogram == nil {
			continue
		}
		switch r := m.Histogram(row, h, args, s.From+i); {
		case r.None || !r.Keep:
		case r.Histogram != nil:
			s.Hists[i] = r.Histogram
		default:
			s.Values[i] = r.Number
		}
	}
}

// refuse records the numbers of a series that are left out.
func (m *Mapping) refuse(row int, s *block.Series) {
	if m.Refused == nil {
		return
	}
	for i, v := range s.Values {
		if !block.IsAbsent(v) {
			m.Refused(row, s.From+i)
		}
	}
}
