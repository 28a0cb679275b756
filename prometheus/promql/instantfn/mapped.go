// Package instantfn has the functions of instant vectors and of scalars, which compute each series, or each
// step, on its own; also what sorts, relabels and misses series.
package instantfn

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Mapped is a mapping of the series of a node.
type Mapped struct {
	*operator.Mapping
	Input *operator.Node
}

// AllNotes returns the annotations of the operator.
func (m Mapped) AllNotes() []*annotation.Notes {
	if m.Notes == nil {
		return nil
	}
	return []*annotation.Notes{m.Notes}
}

// Inputs implements operator.Operator.
func (m Mapped) Inputs() []*operator.Node { return append([]*operator.Node{m.Input}, m.Args...) }

// Eval implements operator.Operator.
func (m Mapped) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, args, release, err := m.values(e)
	if err != nil {
		return nil, err
	}
	defer release()
	b := e.NewBlock(in.Grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.InParallel(b, len(in.Series), len(in.Series)*in.Steps, func(l *operator.Lane, i int) error {
		s := in.Series[i]
		if m.Drops {
			s.Labels, s.DropName = e.WithoutName(s.Labels), true
		}
		values, err := l.Memory.Take(len(s.Values))
		if err != nil {
			return err
		}
		copy(values, s.Values)
		s.Values, s.Hists = values, slices.Clone(s.Hists)
		m.All(i, &s, args)
		s.Trim()
		b.Series[i] = s
		return nil
	})
	if err == nil {
		err = e.Seal(b)
	}
	if err == nil && m.Drops {
		err = joinUnnamed(e, in, b)
	}
	return b, err
}

// values evaluates the input and the arguments, in the order of the library. The caller calls release
// when it does not return an error.
func (m Mapped) values(e *operator.Evaluation) (in *block.Block, args [][]float64, release func(), err error) {
	if m.ArgsFirst || Constant(m.Args...) {
		var releaseArgs func()
		if args, releaseArgs, err = e.Arguments(m.Args); err != nil {
			return nil, nil, nil, err
		}
		if in, err = m.Input.Block(e); err != nil {
			releaseArgs()
			return nil, nil, nil, err
		}
		return in, args, func() { releaseArgs(); e.Release(in) }, nil
	}
	if in, err = m.Input.Block(e); err != nil {
		return nil, nil, nil, err
	}
	args, releaseArgs, err := e.Arguments(m.Args)
	if err != nil {
		e.Release(in)
		return nil, nil, nil, err
	}
	return in, args, func() { releaseArgs(); e.Release(in) }, nil
}

// joinUnnamed joins the series that have the same labels since names were dropped.
func joinUnnamed(e *operator.Evaluation, before, after *block.Block) error {
	if e.Delayed || !operator.SeveralNames(before) {
		return nil
	}
	return e.Join(after)
}
