package instantfn

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// WithScalar is a binary operation of a vector and a scalar. It returns nil for operators that it
// does not know.
func WithScalar(e *parser.BinaryExpr, scalar *operator.Node, scalarLeft bool) *operator.Mapping {
	op, asBool := e.Op, e.ReturnBool
	m := &operator.Mapping{Args: []*operator.Node{scalar}, ArgsFirst: scalarLeft, Drops: asBool || !op.IsComparisonOperator(), Notes: &annotation.Notes{}}
	o := binop.HistogramOp{Op: op, Position: e.PositionRange(), Notes: m.Notes}
	m.Histogram = func(row int, h *histogram.FloatHistogram, args [][]float64, step int) binop.Result {
		l, r := binop.Operand{Histogram: h}, binop.Operand{Number: args[0][step]}
		if scalarLeft {
			l, r = r, l
		}
		return o.Of(binop.At{Step: step, Pair: row}, l, r)
	}
	switch compare, calculate := binop.Comparison(op), binop.Arithmetic(op); {
	case compare != nil:
		m.Apply = func(values []float64, args [][]float64) {
			compareWith(compare, values, args[0], scalarLeft, asBool)
		}
	case calculate != nil:
		m.Apply = func(values []float64, args [][]float64) {
			calculateWith(op, calculate, values, args[0], scalarLeft)
		}
	case op == parser.TRIM_LOWER || op == parser.TRIM_UPPER:
		m.Only, m.Drops = true, false
		m.Refused = func(row, step int) { o.Incompatible(binop.At{Step: step, Pair: row}, binop.Operand{}, binop.Operand{}) }
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
			values[i] = binop.OneOrZero(holds)
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
