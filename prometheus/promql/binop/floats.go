// Package binop computes the binary operators of PromQL for two operands: numbers, or histograms, with the
// annotations that Prometheus' engine makes. Which series are operands of which is decided in join.
package binop

import (
	"math"

	"github.com/prometheus/prometheus/promql/parser"
)

// Scalar returns what a binary operator does with two numbers, nil if it is not known.
func Scalar(op parser.ItemType) func(l, r float64) float64 {
	if compare := Comparison(op); compare != nil {
		return func(l, r float64) float64 { return OneOrZero(compare(l, r)) }
	}
	return Arithmetic(op)
}

// OneOrZero is a comparison with bool.
func OneOrZero(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Arithmetic returns an arithmetic operation, nil if the operator is none.
func Arithmetic(op parser.ItemType) func(l, r float64) float64 {
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

// Comparison returns a comparison, nil if the operator is none.
func Comparison(op parser.ItemType) func(l, r float64) bool {
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
