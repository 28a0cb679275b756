package rangeql

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// mapped is a mapping of the series of a node.
type mapped struct {
	*mapping
	input *node
}

func (m mapped) noted() []*annotation.Notes {
	if m.notes == nil {
		return nil
	}
	return []*annotation.Notes{m.notes}
}

func (m mapped) inputs() []*node { return append([]*node{m.input}, m.args...) }

func (mapped) name() string { return "function" }

func (m mapped) eval(e *evaluation) (*block.Block, error) {
	in, args, release, err := m.values(e)
	if err != nil {
		return nil, err
	}
	defer release()
	b := e.newBlock(in.Grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.inParallel(b, len(in.Series), len(in.Series)*in.Steps, func(l *lane, i int) error {
		s := in.Series[i]
		if m.drops {
			s.Labels, s.DropName = e.withoutName(s.Labels), true
		}
		values, err := l.memory.Take(len(s.Values))
		if err != nil {
			return err
		}
		copy(values, s.Values)
		s.Values, s.Hists = values, slices.Clone(s.Hists)
		m.all(i, &s, args)
		s.Trim()
		b.Series[i] = s
		return nil
	})
	if err == nil {
		err = e.seal(b)
	}
	if err == nil && m.drops {
		err = joinUnnamed(e, in, b)
	}
	return b, err
}

// values evaluates the input and the arguments, in the order of the library. The caller calls release
// when it does not return an error.
func (m mapped) values(e *evaluation) (in *block.Block, args [][]float64, release func(), err error) {
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

// joinUnnamed joins the series that have the same labels since names were dropped.
func joinUnnamed(e *evaluation, before, after *block.Block) error {
	if e.delayed || !severalNames(before) {
		return nil
	}
	return e.join(after)
}
