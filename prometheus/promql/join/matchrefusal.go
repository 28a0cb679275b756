package join

import (
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Errors of the library about series that match.
var (
	errManyToOne = errors.New("multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)") //nolint:gochecknoglobals // a sentinel
	errGrouping  = errors.New("multiple matches for labels: grouping labels must ensure unique matches")                     //nolint:gochecknoglobals // a sentinel
)

// refused returns the error with which the library refuses a matching: that of the first step that
// has one. It returns ErrHandOver if there is none, or if the library may meet a limit before.
func (o Vectors) refused(e *operator.Evaluation, many, one *block.Block) error {
	signatures := newSignatures(o.Matching)
	m := matchingStep{Vectors: o, e: e, many: many, one: one, builder: labels.NewBuilder(labels.EmptyLabels())}
	m.manyNumbers, m.oneNumbers = signatures.all(many), signatures.all(one)
	for step := range o.Grid.Steps {
		if err := e.EndedAt(step); err != nil {
			return err
		}
		m.step = step
		if err := m.match(); err != nil {
			return err
		}
		if err := e.Peak(m.samples); err != nil {
			return err
		}
		if m.repeated {
			return m.sameLabels()
		}
	}
	return columns.ErrMatch
}

// sameLabels returns the error of results with the same labels. For an instant with delayed names the
// library finds them later, or not at all.
func (m *matchingStep) sameLabels() error {
	if m.e.Delayed && !m.Grid.IsRange() {
		return columns.ErrMatch
	}
	return operator.ErrSameLabels
}

// A matchingStep matches the series of one step as the library's VectorBinop does.
type matchingStep struct {
	Vectors
	e                       *operator.Evaluation
	many, one               *block.Block
	manyNumbers, oneNumbers []int // of signatures
	builder                 *labels.Builder
	step                    int
	samples                 int // of the results of all steps so far

	matched  map[int]map[uint64]bool // labels of results by signature; one to one: that there are any
	results  map[uint64]bool         // labels of the results
	repeated bool                    // some results have the same labels
}

// present reports whether a block has values at the step.
func (m *matchingStep) present(b *block.Block) bool {
	for i := range b.Series {
		if b.Series[i].Has(m.step) {
			return true
		}
	}
	return false
}

func (m *matchingStep) match() error {
	fills := m.Matching.FillValues
	left, right := m.present(m.many), m.present(m.one)
	if !left && !right || (!left || !right) && fills.LHS == nil && fills.RHS == nil {
		return nil
	}
	m.matched, m.results = map[int]map[uint64]bool{}, map[uint64]bool{}
	ones, err := m.ones()
	if err != nil {
		return err
	}
	for i := range m.many.Series {
		s, number := &m.many.Series[i], m.manyNumbers[i]
		value, ok := operandAt(s, m.step)
		if !ok {
			continue
		}
		if other := ones[number]; other != nil {
			otherValue, _ := operandAt(other, m.step)
			err = m.pair(number, s.Labels, other.Labels, value, otherValue)
		} else if fills.RHS != nil {
			err = m.pair(number, s.Labels, m.matchLabels(s), value, binop.Operand{Number: *fills.RHS})
		}
		if err != nil {
			return err
		}
	}
	return m.fillMany()
}

// fillMany matches what is left of the one side with the value of fill.
func (m *matchingStep) fillMany() error {
	if m.Matching.FillValues.LHS == nil {
		return nil
	}
	for i := range m.one.Series {
		s, number := &m.one.Series[i], m.oneNumbers[i]
		value, ok := operandAt(s, m.step)
		if !ok || len(m.matched[number]) > 0 {
			continue
		}
		if err := m.pair(number, m.matchLabels(s), s.Labels, binop.Operand{Number: *m.Matching.FillValues.LHS}, value); err != nil {
			return err
		}
	}
	return nil
}

func (m *matchingStep) matchLabels(s *block.Series) labels.Labels {
	return s.Labels.MatchLabels(m.Matching.On, m.Matching.MatchingLabels...)
}

// ones returns the series of the one side by their signature, which must be theirs alone.
func (m *matchingStep) ones() (map[int]*block.Series, error) {
	ones := map[int]*block.Series{}
	for i := range m.one.Series {
		s, number := &m.one.Series[i], m.oneNumbers[i]
		if !s.Has(m.step) {
			continue
		}
		if other := ones[number]; other != nil {
			side, first, second := "right", s.Labels.String(), other.Labels.String()
			if m.Matching.Card == parser.CardOneToMany {
				side = "left"
			}
			return nil, fmt.Errorf("found duplicate series for the match group %s on the %s hand-side of the operation: [%s, %s]"+
				";many-to-many matching not allowed: matching labels must be unique on one side", m.matchLabels(s), side, min(first, second), max(first, second))
		}
		ones[number] = s
	}
	return ones, nil
}

// pair takes the result of two series.
func (m *matchingStep) pair(number int, many, one labels.Labels, manyValue, oneValue binop.Operand) error {
	l, r := manyValue, oneValue
	if m.Matching.Card == parser.CardOneToMany {
		l, r = r, l
	}
	defined, keep := m.outcome(l, r)
	if !defined {
		return nil
	}
	hash := resultLabels(m.builder, many, one, m.Matching, m.drops(m.e)).Hash()
	if m.Matching.Card == parser.CardOneToOne {
		if m.matched[number] != nil {
			return errManyToOne
		}
	} else if m.matched[number][hash] {
		return errGrouping
	}
	if m.matched[number] == nil {
		m.matched[number] = map[uint64]bool{}
	}
	m.matched[number][hash] = true
	if !keep && !m.AsBool {
		return nil
	}
	m.repeated = m.repeated || m.results[hash]
	m.results[hash] = true
	m.samples++
	return nil
}

// outcome reports whether the operation is defined, and whether a comparison holds.
func (m *matchingStep) outcome(l, r binop.Operand) (defined, keep bool) {
	if l.Histogram != nil || r.Histogram != nil {
		v := binop.HistogramOp{Op: m.Op, Position: m.Elements.Position, Notes: &annotation.Notes{}}.Of(binop.At{}, l, r)
		return !v.None, v.Keep
	}
	if compare := binop.Comparison(m.Op); compare != nil {
		return true, compare(l.Number, r.Number)
	}
	return !m.trims(), true
}
