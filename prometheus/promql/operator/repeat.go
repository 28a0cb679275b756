package operator

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// Repeat is an expression that does not depend on the step: its value at the first step, at all
// steps.
type Repeat struct {
	Grid  block.Grid
	Input *Node // at the first step
}

// Inputs implements Operator.
func (o Repeat) Inputs() []*Node { return []*Node{o.Input} }

// Eval implements Operator.
func (o Repeat) Eval(e *Evaluation) (*block.Block, error) {
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	b := e.NewBlock(o.Grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.InParallel(b, len(in.Series), len(in.Series)*o.Grid.Steps, func(l *Lane, i int) error {
		s := in.Series[i]
		values, err := l.Memory.Take(o.Grid.Steps)
		if err != nil {
			return err
		}
		block.Fill(values, s.Values[0])
		s.Values = values
		if s.Hists != nil {
			h := s.Hists[0]
			s.Hists = make([]*histogram.FloatHistogram, o.Grid.Steps)
			for step := range s.Hists {
				s.Hists[step] = h
			}
		}
		b.Series[i] = s
		return nil
	})
	if err == nil {
		err = e.Seal(b)
	}
	return b, err
}
