package rangeql

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// withScalar is a binary operation of a vector and a scalar. It returns nil for operators that it
// does not know.
func withScalar(e *parser.BinaryExpr, scalar *node, scalarLeft bool) *mapping {
	op, asBool := e.Op, e.ReturnBool
	m := &mapping{args: []*node{scalar}, argsFirst: scalarLeft, drops: asBool || !op.IsComparisonOperator(), notes: &annotation.Notes{}}
	o := elementwise{op, e.PositionRange(), m.notes}
	m.histogram = func(row int, h *histogram.FloatHistogram, args [][]float64, step int) result {
		l, r := operand{histogram: h}, operand{number: args[0][step]}
		if scalarLeft {
			l, r = r, l
		}
		return o.of(operands{step, row}, l, r)
	}
	switch compare, calculate := comparison(op), arithmetic(op); {
	case compare != nil:
		m.apply = func(values []float64, args [][]float64) {
			compareWith(compare, values, args[0], scalarLeft, asBool)
		}
	case calculate != nil:
		m.apply = func(values []float64, args [][]float64) {
			calculateWith(op, calculate, values, args[0], scalarLeft)
		}
	case op == parser.TRIM_LOWER || op == parser.TRIM_UPPER:
		m.only, m.drops = true, false
		m.refused = func(row, step int) { o.incompatible(operands{step, row}, operand{}, operand{}) }
	default:
		return nil
	}
	return m
}

func compareWith(compare func(l, r float64) bool, values, scalars []float64, scalarLeft, asBool bool) {
	for i, v := range values {
		if block.IsAbsent(v) {
			continue
		}
		l, r := v, scalars[i]
		if scalarLeft {
			l, r = r, l
		}
		switch holds := compare(l, r); {
		case asBool:
			values[i] = oneOrZero(holds)
		case !holds:
			values[i] = block.Absent
		}
	}
}

func calculateWith(op parser.ItemType, calculate func(l, r float64) float64, values, scalars []float64, scalarLeft bool) {
	scalars = scalars[:len(values)]
	switch {
	case op == parser.MUL:
		for i, v := range values {
			if product := v * scalars[i]; product == product || !block.IsAbsent(v) {
				values[i] = product
			}
		}
	case op == parser.DIV && !scalarLeft:
		for i, v := range values {
			if quotient := v / scalars[i]; quotient == quotient || !block.IsAbsent(v) {
				values[i] = quotient
			}
		}
	case scalarLeft:
		for i, v := range values {
			if !block.IsAbsent(v) {
				values[i] = calculate(scalars[i], v)
			}
		}
	default:
		for i, v := range values {
			if !block.IsAbsent(v) {
				values[i] = calculate(v, scalars[i])
			}
		}
	}
}
