package join

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Sets is and, or, unless.
type Sets struct {
	Grid        block.Grid
	Op          parser.ItemType
	Matching    *parser.VectorMatching
	Left, Right *operator.Node
}

// presence says at which steps a signature has a value.
type presence []bool

// presences returns at which steps each signature of a block has a value. It takes memory from an
// arena.
func presences(memory *block.Arena, in *block.Block, numbers []int) (map[int]presence, error) {
	all := make(map[int]presence, len(in.Series))
	for i, number := range numbers {
		p := all[number]
		if p == nil {
			if err := memory.TakeBytes(int64(in.Steps)); err != nil {
				return nil, err
			}
			p = make(presence, in.Steps)
			all[number] = p
		}
		s := &in.Series[i]
		for step := s.From; step < s.To(); step++ {
			p[step] = p[step] || s.Has(step)
		}
	}
	return all, nil
}

// Inputs implements operator.Operator.
func (o Sets) Inputs() []*operator.Node { return []*operator.Node{o.Left, o.Right} }

// Eval implements operator.Operator.
func (o Sets) Eval(e *operator.Evaluation) (*block.Block, error) {
	left, right, release, err := e.Both(o.Left, o.Right)
	if err != nil {
		return nil, err
	}
	defer release()
	signatures := newSignatures(o.Matching)
	l, r := signatures.all(left), signatures.all(right)
	b := e.NewBlock(o.Grid)
	if o.Op != parser.LOR {
		present, err := presences(&b.Memory, right, r)
		if err == nil {
			err = o.masked(e, b, left, l, present, o.Op == parser.LAND)
		}
		if err == nil {
			err = e.Seal(b)
		}
		return b, err
	}
	present, err := presences(&b.Memory, left, l)
	if err == nil {
		err = o.masked(e, b, left, nil, nil, false)
	}
	if err == nil {
		err = o.masked(e, b, right, r, present, false)
	}
	if err == nil {
		err = e.Seal(b)
	}
	if err == nil {
		err = e.Join(b)
	}
	return b, err
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
func (o Sets) masked(e *operator.Evaluation, b, in *block.Block, numbers []int, other map[int]presence, wanted bool) error {
	offset := len(b.Series)
	b.Series = append(b.Series, make([]block.Series, len(in.Series))...)
	return e.InParallel(b, len(in.Series), len(in.Series)*o.Grid.Steps, func(l *operator.Lane, i int) error {
		var p presence
		if numbers != nil {
			p = other[numbers[i]]
		}
		if p == nil && wanted {
			return nil
		}
		s := in.Series[i]
		values, err := l.Memory.Take(len(s.Values))
		if err != nil {
			return err
		}
		copy(values, s.Values)
		if p != nil {
			for k := range values {
				if p[s.From+k] != wanted {
					values[k] = block.Absent
				}
			}
			s.Hists = maskHistograms(s.Hists, p[s.From:], wanted)
		}
		s.Values = values
		s.Trim()
		b.Series[offset+i] = s
		return nil
	})
}
