package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/promql/parser"
)

// scalarOperation returns what a binary operator does with two numbers, nil if it is not known.
func scalarOperation(op parser.ItemType) func(l, r float64) float64 {
	if compare := comparison(op); compare != nil {
		return func(l, r float64) float64 { return oneOrZero(compare(l, r)) }
	}
	return arithmetic(op)
}

func oneOrZero(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// arithmetic returns an arithmetic operation, nil if the operator is none.
func arithmetic(op parser.ItemType) func(l, r float64) float64 {
	switch op {
	case parser.ADD:
		return func(l, r float64) float64 { return l + r }
	case parser.SUB:
		return func(l, r float64) float64 { return l - r }
	case parser.MUL:
		return func(l, r float64) float64 { return l * r }
	case parser.DIV:
		return func(l, r float64) float64 { return l / r }
	case parser.POW:
		return math.Pow
	case parser.MOD:
		return math.Mod
	case parser.ATAN2:
		return math.Atan2
	}
	return nil
}

// comparison returns a comparison, nil if the operator is none.
func comparison(op parser.ItemType) func(l, r float64) bool {
	switch op {
	case parser.EQLC:
		return func(l, r float64) bool { return l == r }
	case parser.NEQ:
		return func(l, r float64) bool { return l != r }
	case parser.GTR:
		return func(l, r float64) bool { return l > r }
	case parser.LSS:
		return func(l, r float64) bool { return l < r }
	case parser.GTE:
		return func(l, r float64) bool { return l >= r }
	case parser.LTE:
		return func(l, r float64) bool { return l <= r }
	}
	return nil
}
