package rangeql

import (
	"slices"
)

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

func (mapped) name() string { return "function" }

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
		err = joinUnnamed(e, in, b)
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

// joinUnnamed joins the series that have the same labels since names were dropped.
func joinUnnamed(e *evaluation, before, after *block) error {
	if e.delayed || !severalNames(before) {
		return nil
	}
	return e.join(after)
}
