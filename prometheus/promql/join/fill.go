package join

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// filled returns pairs of series with the values that fill_left and fill_right give to what does
// not match, at the steps at which it does not.
func (o Vectors) filled(b, many, one *block.Block) ([]pair, error) {
	fills := o.Matching.FillValues
	if fills.LHS == nil && fills.RHS == nil {
		return nil, nil
	}
	signatures := newSignatures(o.Matching)
	manyNumbers, oneNumbers := signatures.all(many), signatures.all(one)
	var all []pair
	// As in the library, the values belong to the sides after many and one were found.
	if fills.RHS != nil {
		present, err := presences(&b.Memory, one, oneNumbers)
		if err != nil {
			return nil, err
		}
		for i := range many.Series {
			s := &many.Series[i]
			other, err := o.filling(b, s, present[manyNumbers[i]], *fills.RHS)
			if err != nil {
				return nil, err
			}
			all = append(all, pair{s, other})
		}
	}
	if fills.LHS != nil {
		present, err := presences(&b.Memory, many, manyNumbers)
		if err != nil {
			return nil, err
		}
		for i := range one.Series {
			s := &one.Series[i]
			other, err := o.filling(b, s, present[oneNumbers[i]], *fills.LHS)
			if err != nil {
				return nil, err
			}
			all = append(all, pair{other, s})
		}
	}
	return all, nil
}

// clash reports whether filling may give a signature more than one result at a step, although the matching
// is one to one, or whether what matches depends on the kinds of operands: with a value of fill the library
// calculates anew what is not defined.
func (o Vectors) clash(pairs []pair) bool {
	signatures, before := newSignatures(o.Matching), map[int][]pair{}
	for _, p := range pairs {
		if p.many.Hists != nil || p.one.Hists != nil {
			return true
		}
		if o.Matching.Card != parser.CardOneToOne {
			continue
		}
		number := signatures.of(p.many.Labels)
		for _, other := range before[number] {
			if block.Overlap(p.many, other.many) && block.Overlap(p.one, other.one) {
				return true
			}
		}
		before[number] = append(before[number], p)
	}
	return false
}

// inOrder brings pairs into the order of the many side, as the library finds them. Pairs whose series
// of that side is a fill value come last.
func inOrder(many *block.Block, pairs []pair) []pair {
	at := make(map[*block.Series]int, len(many.Series))
	for i := range many.Series {
		at[&many.Series[i]] = i
	}
	position := func(p pair) int {
		if i, ok := at[p.many]; ok {
			return i
		}
		return len(at)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(position(a), position(b)) })
	return pairs
}

// filling returns a series with a value at those steps of s at which the other side has none.
func (o Vectors) filling(b *block.Block, s *block.Series, other presence, value float64) (*block.Series, error) {
	values, err := b.Memory.Take(len(s.Values))
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = block.Absent
		if step := s.From + i; s.Has(step) && (other == nil || !other[step]) {
			values[i] = value
		}
	}
	return &block.Series{Labels: s.Labels.MatchLabels(o.Matching.On, o.Matching.MatchingLabels...), From: s.From, Values: values}, nil
}
