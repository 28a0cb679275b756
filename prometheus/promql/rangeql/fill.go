package rangeql

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// filled returns pairs of series with the values that fill_left and fill_right give to what does
// not match, at the steps at which it does not.
func (o vectors) filled(b, many, one *block) ([]pair, error) {
	fills := o.matching.FillValues
	if fills.LHS == nil && fills.RHS == nil {
		return nil, nil
	}
	signatures := newSignatures(o.matching)
	manyNumbers, oneNumbers := signatures.all(many), signatures.all(one)
	var all []pair
	// As in the library, the values belong to the sides after many and one were found.
	if fills.RHS != nil {
		present, err := presences(&b.memory, one, oneNumbers)
		if err != nil {
			return nil, err
		}
		for i := range many.series {
			s := &many.series[i]
			other, err := o.filling(b, s, present[manyNumbers[i]], *fills.RHS)
			if err != nil {
				return nil, err
			}
			all = append(all, pair{s, other})
		}
	}
	if fills.LHS != nil {
		present, err := presences(&b.memory, many, manyNumbers)
		if err != nil {
			return nil, err
		}
		for i := range one.series {
			s := &one.series[i]
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
func (o vectors) clash(pairs []pair) bool {
	signatures, before := newSignatures(o.matching), map[int][]pair{}
	for _, p := range pairs {
		if p.many.hists != nil || p.one.hists != nil {
			return true
		}
		if o.matching.Card != parser.CardOneToOne {
			continue
		}
		number := signatures.of(p.many.labels)
		for _, other := range before[number] {
			if overlap(p.many, other.many) && overlap(p.one, other.one) {
				return true
			}
		}
		before[number] = append(before[number], p)
	}
	return false
}

// inOrder brings pairs into the order of the many side, as the library finds them. Pairs whose series
// of that side is a fill value come last.
func inOrder(many *block, pairs []pair) []pair {
	at := make(map[*series]int, len(many.series))
	for i := range many.series {
		at[&many.series[i]] = i
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
func (o vectors) filling(b *block, s *series, other presence, value float64) (*series, error) {
	values, err := b.memory.take(len(s.values))
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = absent
		if step := s.from + i; s.has(step) && (other == nil || !other[step]) {
			values[i] = value
		}
	}
	return &series{labels: s.labels.MatchLabels(o.matching.On, o.matching.MatchingLabels...), from: s.from, values: values}, nil
}
