package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// operation is arithmetic or a comparison with a number.
type operation struct {
	op         parser.ItemType
	number     float64
	numberLeft bool
	asBool     bool
}

// newOperation splits a binary expression into a vector and an operation with a literal.
func newOperation(e *parser.BinaryExpr) (op operation, vector parser.Expr, ok bool) {
	op = operation{op: e.Op, asBool: e.ReturnBool}
	if _, ok := op.apply(0); !ok && !e.Op.IsComparisonOperator() {
		return op, nil, false
	}
	if number, ok := literal(e.RHS); ok {
		op.number = number
		return op, e.LHS, e.LHS.Type() == parser.ValueTypeVector
	}
	if number, ok := literal(e.LHS); ok {
		op.number, op.numberLeft = number, true
		return op, e.RHS, e.RHS.Type() == parser.ValueTypeVector
	}
	return op, nil, false
}

func literal(expr parser.Expr) (float64, bool) {
	switch e := expr.(type) {
	case *parser.StepInvariantExpr:
		return literal(e.Expr)
	case *parser.ParenExpr:
		return literal(e.Expr)
	case *parser.NumberLiteral:
		return e.Val, true
	}
	return 0, false
}

// dropsName reports whether the result is no longer the metric itself.
func (o operation) dropsName() bool { return o.asBool || !o.op.IsComparisonOperator() }

// apply returns the result for a sample, and false if the sample is left out.
func (o operation) apply(v float64) (float64, bool) {
	left, right := v, o.number
	if o.numberLeft {
		left, right = right, left
	}
	if o.op.IsComparisonOperator() {
		return o.compare(v, left, right)
	}
	switch o.op {
	case parser.ADD:
		return left + right, true
	case parser.SUB:
		return left - right, true
	case parser.MUL:
		return left * right, true
	case parser.DIV:
		return left / right, true
	case parser.POW:
		return math.Pow(left, right), true
	case parser.MOD:
		return math.Mod(left, right), true
	case parser.ATAN2:
		return math.Atan2(left, right), true
	}
	return 0, false
}

func (o operation) compare(v, left, right float64) (float64, bool) {
	var holds bool
	switch o.op {
	case parser.EQLC:
		holds = left == right
	case parser.NEQ:
		holds = left != right
	case parser.GTR:
		holds = left > right
	case parser.LSS:
		holds = left < right
	case parser.GTE:
		holds = left >= right
	case parser.LTE:
		holds = left <= right
	}
	switch {
	case !o.asBool:
		return v, holds
	case holds:
		return 1, true
	}
	return 0, true
}

// all applies the operation to the points of a series, in place.
func (o operation) all(points []promql.FPoint) []promql.FPoint {
	kept := points[:0]
	for _, p := range points {
		if f, ok := o.apply(p.F); ok {
			kept = append(kept, promql.FPoint{T: p.T, F: f})
		}
	}
	return kept
}
