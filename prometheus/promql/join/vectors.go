// Package join has the operators that match series of two vectors by their labels: binary operations, sets,
// and the function info. It decides where the library refuses a matching, and with which error.
package join

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Vectors is a binary operation of two vectors. Which series match is found out once for all steps.
type Vectors struct {
	Grid        block.Grid
	Op          parser.ItemType
	AsBool      bool
	Matching    *parser.VectorMatching
	Elements    binop.HistogramOp
	Left, Right *operator.Node
}

// pair is two series that match.
type pair struct{ many, one *block.Series }

// Inputs implements operator.Operator.
func (o Vectors) Inputs() []*operator.Node { return []*operator.Node{o.Left, o.Right} }

// AllNotes returns the annotations of the operator.
func (o Vectors) AllNotes() []*annotation.Notes { return []*annotation.Notes{o.Elements.Notes} }

// Eval implements operator.Operator.
func (o Vectors) Eval(e *operator.Evaluation) (*block.Block, error) {
	left, right, release, err := e.Both(o.Left, o.Right)
	if err != nil {
		return nil, err
	}
	defer release()
	// From here on, the side that may have several series of a signature is called many.
	many, one := left, right
	if o.Matching.Card == parser.CardOneToMany {
		many, one = right, left
	}
	pairs, plain, ok := o.pairs(many, one)
	if !ok {
		return nil, o.refused(e, many, one)
	}
	b := e.NewBlock(o.Grid)
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
		b.Series[i].Labels = resultLabels(builder, p.many.Labels, p.one.Labels, o.Matching, drops)
		b.Series[i].DropName = o.AsBool
	}
	if o.Matching.Card != parser.CardOneToOne {
		if !distinctResults(b, pairs) {
			return b, o.refused(e, many, one)
		}
	}
	calculate := o.calculation()
	err = e.InParallel(b, len(pairs), len(pairs)*o.Grid.Steps, func(l *operator.Lane, i int) error {
		s := &b.Series[i]
		from, many, one := block.Common(pairs[i].many, pairs[i].one)
		values, err := l.Memory.Take(len(many))
		if err != nil {
			return err
		}
		if o.Matching.Card == parser.CardOneToMany {
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
	if err := e.Seal(b); err != nil || plain {
		return b, err
	}
	return b, e.Join(b)
}

// histograms sets the results of those steps of a pair, the one of a number, that have a histogram on one
// side.
func (o Vectors) histograms(s *block.Series, p pair, number int) {
	l, r := p.many, p.one
	if o.Matching.Card == parser.CardOneToMany {
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
		if !ok || !also || left.Histogram == nil && right.Histogram == nil && !o.trims() {
			continue
		}
		switch v := o.Elements.Of(binop.At{Step: step, Pair: number}, left, right); {
		case v.None:
		case o.AsBool:
			s.Values[i] = binop.OneOrZero(v.Keep)
		case v.Keep && v.Histogram == nil:
			s.Values[i] = v.Number
		case v.Keep:
			s.Hists[i] = v.Histogram
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
func (o Vectors) pairs(many, one *block.Block) (all []pair, plain, ok bool) {
	signatures := newSignatures(o.Matching)
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
	plain = o.Matching.Card == parser.CardOneToOne
	all = make([]pair, 0, len(many.Series))
	before := map[int][]*block.Series{}
	for i := range many.Series {
		s := &many.Series[i]
		number := signatures.of(s.Labels)
		found := ones[number]
		if len(found) == 0 {
			continue
		}
		if o.Matching.Card == parser.CardOneToOne {
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
func (o Vectors) drops(e *operator.Evaluation) bool {
	return o.AsBool && !e.Delayed || !o.Op.IsComparisonOperator() && !o.trims()
}

// trims reports whether the operator trims histograms.
func (o Vectors) trims() bool { return o.Op == parser.TRIM_LOWER || o.Op == parser.TRIM_UPPER }

// calculation returns a function that sets values of consecutive steps.
func (o Vectors) calculation() func(values, l, r []float64) {
	switch o.Op {
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
	if compare := binop.Comparison(o.Op); compare != nil {
		return func(values, l, r []float64) { compareVectors(compare, o.AsBool, values, l, r) }
	}
	calculate := binop.Arithmetic(o.Op)
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
			values[i] = binop.OneOrZero(holds)
		case holds:
			values[i] = l[i]
		}
	}
}

// operandAt returns the value of a series at a step.
func operandAt(s *block.Series, step int) (binop.Operand, bool) {
	if h := s.Hist(step); h != nil {
		return binop.Operand{Histogram: h}, true
	}
	v, ok := s.At(step)
	return binop.Operand{Number: v}, ok
}
