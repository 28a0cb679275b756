package rangeql

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// repeat is an expression that does not depend on the step: its value at the first step, at all
// steps.
type repeat struct {
	grid  block.Grid
	input *node // at the first step
}

func (o repeat) inputs() []*node { return []*node{o.input} }

func (repeat) name() string { return "repeat" }

func (o repeat) eval(e *evaluation) (*block.Block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	b := e.newBlock(o.grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.inParallel(b, len(in.Series), len(in.Series)*o.grid.Steps, func(l *lane, i int) error {
		s := in.Series[i]
		values, err := l.memory.Take(o.grid.Steps)
		if err != nil {
			return err
		}
		block.Fill(values, s.Values[0])
		s.Values = values
		if s.Hists != nil {
			h := s.Hists[0]
			s.Hists = make([]*histogram.FloatHistogram, o.grid.Steps)
			for step := range s.Hists {
				s.Hists[step] = h
			}
		}
		b.Series[i] = s
		return nil
	})
	if err == nil {
		err = e.seal(b)
	}
	return b, err
}
