package rangeql

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// vectors is a binary operation of two vectors. Which series match is found out once for all steps.
type vectors struct {
	grid        block.Grid
	op          parser.ItemType
	asBool      bool
	matching    *parser.VectorMatching
	elements    elementwise
	left, right *node
}

// pair is two series that match.
type pair struct{ many, one *block.Series }

func (o vectors) inputs() []*node { return []*node{o.left, o.right} }

func (vectors) name() string { return "binary operation" }

func (o vectors) noted() []*annotation.Notes { return []*annotation.Notes{o.elements.notes} }

func (o vectors) eval(e *evaluation) (*block.Block, error) {
	left, right, release, err := e.both(o.left, o.right)
	if err != nil {
		return nil, err
	}
	defer release()
	// From here on, the side that may have several series of a signature is called many.
	many, one := left, right
	if o.matching.Card == parser.CardOneToMany {
		many, one = right, left
	}
	pairs, plain, ok := o.pairs(many, one)
	if !ok {
		return nil, o.refused(e, many, one)
	}
	b := e.newBlock(o.grid)
	if filled, err := o.filled(b, many, one); err != nil {
		return b, err
	} else if len(filled) > 0 {
		if pairs, plain = inOrder(many, append(pairs, filled...)), false; o.clash(pairs) {
			return b, o.refused(e, many, one)
		}
	}
	b.Series = make([]block.Series, len(pairs))
	drops := o.drops(e)
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i, p := range pairs {
		b.Series[i].Labels = resultLabels(builder, p.many.Labels, p.one.Labels, o.matching, drops)
		b.Series[i].DropName = o.asBool
	}
	if o.matching.Card != parser.CardOneToOne {
		if !distinctResults(b, pairs) {
			return b, o.refused(e, many, one)
		}
	}
	calculate := o.calculation()
	err = e.inParallel(b, len(pairs), len(pairs)*o.grid.Steps, func(l *lane, i int) error {
		s := &b.Series[i]
		from, many, one := block.Common(pairs[i].many, pairs[i].one)
		values, err := l.memory.Take(len(many))
		if err != nil {
			return err
		}
		if o.matching.Card == parser.CardOneToMany {
			many, one = one, many
		}
		calculate(values, many, one)
		s.From, s.Values = from, values
		o.histograms(s, pairs[i], i)
		s.Trim()
		return nil
	})
	if err != nil {
		return b, err
	}
	if err := e.seal(b); err != nil || plain {
		return b, err
	}
	return b, e.join(b)
}

// histograms sets the results of those steps of a pair, the one of a number, that have a histogram on one
// side.
func (o vectors) histograms(s *block.Series, p pair, number int) {
	l, r := p.many, p.one
	if o.matching.Card == parser.CardOneToMany {
		l, r = r, l
	}
	if l.Hists == nil && r.Hists == nil && !o.trims() {
		return
	}
	s.Hists = make([]*histogram.FloatHistogram, len(s.Values))
	for i := range s.Values {
		step := s.From + i
		left, ok := operandAt(l, step)
		right, also := operandAt(r, step)
		if !ok || !also || left.histogram == nil && right.histogram == nil && !o.trims() {
			continue
		}
		switch v := o.elements.of(operands{step, number}, left, right); {
		case v.none:
		case o.asBool:
			s.Values[i] = oneOrZero(v.keep)
		case v.keep && v.histogram == nil:
			s.Values[i] = v.number
		case v.keep:
			s.Hists[i] = v.histogram
		}
	}
}

// distinctResults reports false if two series of the many side may have the same result at a step,
// even if a comparison leaves it out.
func distinctResults(b *block.Block, pairs []pair) bool {
	before := make(map[uint64][]*block.Series, len(pairs))
	for i, p := range pairs {
		hash := b.Series[i].Labels.Hash()
		for _, other := range before[hash] {
			if other != p.many && block.Overlap(other, p.many) {
				return false
			}
		}
		before[hash] = append(before[hash], p.many)
	}
	return true
}

// pairs returns the series that match, in the order of the many side; plain means that no signature
// has more than one pair. It reports false where the library may refuse the matching: that depends on
// single steps.
func (o vectors) pairs(many, one *block.Block) (all []pair, plain, ok bool) {
	signatures := newSignatures(o.matching)
	ones := map[int][]*block.Series{}
	for i := range one.Series {
		s := &one.Series[i]
		number := signatures.of(s.Labels)
		for _, other := range ones[number] {
			if block.Overlap(s, other) {
				return nil, false, false
			}
		}
		ones[number] = append(ones[number], s)
	}
	plain = o.matching.Card == parser.CardOneToOne
	all = make([]pair, 0, len(many.Series))
	before := map[int][]*block.Series{}
	for i := range many.Series {
		s := &many.Series[i]
		number := signatures.of(s.Labels)
		found := ones[number]
		if len(found) == 0 {
			continue
		}
		if o.matching.Card == parser.CardOneToOne {
			for _, other := range before[number] {
				if block.Overlap(s, other) {
					return nil, false, false
				}
			}
			before[number] = append(before[number], s)
			plain = plain && len(before[number]) == 1 && len(found) == 1
		}
		for _, other := range found {
			all = append(all, pair{s, other})
		}
	}
	return all, plain, true
}

// drops reports whether the result has no name.
func (o vectors) drops(e *evaluation) bool {
	return o.asBool && !e.delayed || !o.op.IsComparisonOperator() && !o.trims()
}

// trims reports whether the operator trims histograms.
func (o vectors) trims() bool { return o.op == parser.TRIM_LOWER || o.op == parser.TRIM_UPPER }

// calculation returns a function that sets values of consecutive steps.
func (o vectors) calculation() func(values, l, r []float64) {
	switch o.op {
	case parser.TRIM_LOWER, parser.TRIM_UPPER: // of histograms alone
		return func(values, _, _ []float64) { block.Fill(values, block.Absent) }
	case parser.ADD:
		return func(values, l, r []float64) {
			l, r = l[:len(values)], r[:len(values)]
			for i := range values {
				values[i] = unlessAbsent(l[i]+r[i], l[i], r[i])
			}
		}
	case parser.SUB:
		return func(values, l, r []float64) {
			l, r = l[:len(values)], r[:len(values)]
			for i := range values {
				values[i] = unlessAbsent(l[i]-r[i], l[i], r[i])
			}
		}
	case parser.MUL:
		return func(values, l, r []float64) {
			l, r = l[:len(values)], r[:len(values)]
			for i := range values {
				values[i] = unlessAbsent(l[i]*r[i], l[i], r[i])
			}
		}
	case parser.DIV:
		return func(values, l, r []float64) {
			l, r = l[:len(values)], r[:len(values)]
			for i := range values {
				values[i] = unlessAbsent(l[i]/r[i], l[i], r[i])
			}
		}
	}
	if compare := comparison(o.op); compare != nil {
		return func(values, l, r []float64) { compareVectors(compare, o.asBool, values, l, r) }
	}
	calculate := arithmetic(o.op)
	return func(values, l, r []float64) {
		for i := range values {
			if values[i] = block.Absent; !block.IsAbsent(l[i]) && !block.IsAbsent(r[i]) {
				values[i] = calculate(l[i], r[i])
			}
		}
	}
}

// unlessAbsent returns the result of arithmetic, absent if an operand is. An absent operand makes
// the result NaN.
func unlessAbsent(result, l, r float64) float64 {
	if result != result && (block.IsAbsent(l) || block.IsAbsent(r)) {
		return block.Absent
	}
	return result
}

func compareVectors(compare func(l, r float64) bool, asBool bool, values, l, r []float64) {
	for i := range values {
		values[i] = block.Absent
		if block.IsAbsent(l[i]) || block.IsAbsent(r[i]) {
			continue
		}
		switch holds := compare(l[i], r[i]); {
		case asBool:
			values[i] = oneOrZero(holds)
		case holds:
			values[i] = l[i]
		}
	}
}

// operandAt returns the value of a series at a step.
func operandAt(s *block.Series, step int) (operand, bool) {
	if h := s.Hist(step); h != nil {
		return operand{histogram: h}, true
	}
	v, ok := s.At(step)
	return operand{number: v}, ok
}
