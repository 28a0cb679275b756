package rangeql

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
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
	notes   *notes  // may be nil
	args    []*node // scalars
	// argsFirst means that the library evaluates the arguments before the vector.
	argsFirst bool
	// drops means that the name of the metric is dropped.
	drops bool

	constants [][]float64 // the values of args, of a mapping in a leaf
}

// mapped is a mapping of the series of a node.
type mapped struct {
	*mapping
	input *node
}

func (m mapped) noted() []*notes {
	if m.notes == nil {
		return nil
	}
	return []*notes{m.notes}
}

func (m mapped) inputs() []*node { return append([]*node{m.input}, m.args...) }

func (m mapped) eval(e *evaluation) (*block, error) {
	in, args, release, err := m.values(e)
	if err != nil {
		return nil, err
	}
	defer release()
	b := e.newBlock(in.grid)
	b.series = make([]series, len(in.series))
	err = e.inParallel(b, len(in.series), len(in.series)*in.steps, func(l *lane, i int) error {
		s := in.series[i]
		if m.drops {
			s.labels, s.dropName = e.withoutName(s.labels), true
		}
		values, err := l.memory.take(len(s.values))
		if err != nil {
			return err
		}
		copy(values, s.values)
		s.values, s.hists = values, slices.Clone(s.hists)
		m.all(i, &s, args)
		s.trim()
		b.series[i] = s
		return nil
	})
	if err == nil {
		err = e.seal(b)
	}
	if err == nil && m.drops {
		err = e.joinUnnamed(in, b)
	}
	return b, err
}

// values evaluates the input and the arguments, in the order of the library. The caller calls release
// when it does not return an error.
func (m mapped) values(e *evaluation) (in *block, args [][]float64, release func(), err error) {
	if m.argsFirst || !slices.ContainsFunc(m.args, func(n *node) bool { return !constant(n) }) {
		var releaseArgs func()
		if args, releaseArgs, err = e.arguments(m.args); err != nil {
			return nil, nil, nil, err
		}
		if in, err = m.input.block(e); err != nil {
			releaseArgs()
			return nil, nil, nil, err
		}
		return in, args, func() { releaseArgs(); e.release(in) }, nil
	}
	if in, err = m.input.block(e); err != nil {
		return nil, nil, nil, err
	}
	args, releaseArgs, err := e.arguments(m.args)
	if err != nil {
		e.release(in)
		return nil, nil, nil, err
	}
	return in, args, func() { releaseArgs(); e.release(in) }, nil
}

// all maps a series, the one of a row, in place.
func (m *mapping) all(row int, s *series, args [][]float64) {
	switch {
	case m.only:
		m.refuse(row, s)
		fill(s.values, absent)
	case len(args) > 0 && s.from > 0:
		at := make([][]float64, len(args))
		for k := range args {
			at[k] = args[k][s.from:]
		}
		m.apply(s.values, at)
	default:
		m.apply(s.values, args)
	}
	if s.hists == nil {
		return
	}
	for i, h := range s.hists {
		s.hists[i] = nil
		if h == nil || m.histogram == nil {
			continue
		}
		switch r := m.histogram(row, h, args, s.from+i); {
		case r.none || !r.keep:
		case r.histogram != nil:
			s.hists[i] = r.histogram
		default:
			s.values[i] = r.number
		}
	}
}

// refuse records the numbers of a series that are left out.
func (m *mapping) refuse(row int, s *series) {
	if m.refused == nil {
		return
	}
	for i, v := range s.values {
		if !isAbsent(v) {
			m.refused(row, s.from+i)
		}
	}
}

// joinUnnamed joins the series that have the same labels since names were dropped.
func (e *evaluation) joinUnnamed(before, after *block) error {
	if e.delayed || !severalNames(before) {
		return nil
	}
	return e.join(after)
}
