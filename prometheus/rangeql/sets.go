package rangeql

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
)

// sets is and, or, unless.
type sets struct {
	grid        grid
	op          parser.ItemType
	matching    *parser.VectorMatching
	left, right *node
}

// presence says at which steps a signature has a value.
type presence []bool

// presences returns at which steps each signature has a value.
func presences(b *block, numbers []int) map[int]presence {
	all := make(map[int]presence, len(b.series))
	for i, number := range numbers {
		p := all[number]
		if p == nil {
			p = make(presence, b.steps)
			all[number] = p
		}
		s := &b.series[i]
		for step := s.from; step < s.to(); step++ {
			p[step] = p[step] || s.has(step)
		}
	}
	return all
}

func (o sets) inputs() []*node { return []*node{o.left, o.right} }

func (o sets) eval(e *evaluation) (*block, error) {
	left, err := o.left.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(left)
	right, err := o.right.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(right)
	signatures := newSignatures(o.matching)
	l, r := signatures.all(left), signatures.all(right)
	b := e.newBlock(o.grid)
	if o.op == parser.LOR {
		if err := o.masked(e, b, left, nil, nil, false); err != nil {
			return b, err
		}
		err = o.masked(e, b, right, r, presences(left, l), false)
	} else {
		err = o.masked(e, b, left, l, presences(right, r), o.op == parser.LAND)
	}
	if err != nil {
		return b, err
	}
	if err := e.seal(b); err != nil || o.op != parser.LOR {
		return b, err
	}
	return b, e.join(b)
}

// maskHistograms returns the histograms at those steps at which the presence is as wanted.
func maskHistograms(hists []*histogram.FloatHistogram, p presence, wanted bool) []*histogram.FloatHistogram {
	if hists == nil {
		return nil
	}
	hists = slices.Clone(hists)
	for k := range hists {
		if p[k] != wanted {
			hists[k] = nil
		}
	}
	return hists
}

// masked appends series to a block, at those steps at which the presence of their signature is as
// wanted.
func (o sets) masked(e *evaluation, b, in *block, numbers []int, other map[int]presence, wanted bool) error {
	if err := e.account.Take(int64(len(other) * o.grid.steps)); err != nil {
		return err
	}
	defer e.account.Give(int64(len(other) * o.grid.steps))
	offset := len(b.series)
	b.series = append(b.series, make([]series, len(in.series))...)
	return e.inParallel(b, len(in.series), len(in.series)*o.grid.steps, func(l *lane, i int) error {
		var p presence
		if numbers != nil {
			p = other[numbers[i]]
		}
		if p == nil && wanted {
			return nil
		}
		s := in.series[i]
		values, err := l.memory.take(len(s.values))
		if err != nil {
			return err
		}
		copy(values, s.values)
		if p != nil {
			for k := range values {
				if p[s.from+k] != wanted {
					values[k] = absent
				}
			}
			s.hists = maskHistograms(s.hists, p[s.from:], wanted)
		}
		s.values = values
		s.trim()
		b.series[offset+i] = s
		return nil
	})
}
