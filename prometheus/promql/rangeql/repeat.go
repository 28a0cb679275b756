package rangeql

import "github.com/prometheus/prometheus/model/histogram"

// repeat is an expression that does not depend on the step: its value at the first step, at all
// steps.
type repeat struct {
	grid  grid
	input *node // at the first step
}

func (o repeat) inputs() []*node { return []*node{o.input} }

func (repeat) name() string { return "repeat" }

func (o repeat) eval(e *evaluation) (*block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	b := e.newBlock(o.grid)
	b.series = make([]series, len(in.series))
	err = e.inParallel(b, len(in.series), len(in.series)*o.grid.steps, func(l *lane, i int) error {
		s := in.series[i]
		values, err := l.memory.take(o.grid.steps)
		if err != nil {
			return err
		}
		fill(values, s.values[0])
		s.values = values
		if s.hists != nil {
			h := s.hists[0]
			s.hists = make([]*histogram.FloatHistogram, o.grid.steps)
			for step := range s.hists {
				s.hists[step] = h
			}
		}
		b.series[i] = s
		return nil
	})
	if err == nil {
		err = e.seal(b)
	}
	return b, err
}
