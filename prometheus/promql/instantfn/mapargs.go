package instantfn

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Negate is the unary minus.
func Negate() *operator.Mapping {
	m := each(func(v float64) float64 { return -v })
	m.Histogram = func(_ int, h *histogram.FloatHistogram, _ [][]float64, _ int) binop.Result {
		return binop.Kept(h.Copy().Mul(-1))
	}
	return m
}

// Round has the number as argument to whose multiples it rounds, if it is given.
func Round(args []*operator.Node) *operator.Mapping {
	return &operator.Mapping{Drops: true, Args: args, Apply: func(values []float64, args [][]float64) {
		inverse := 1.0
		for i, v := range values {
			if len(args) > 0 {
				inverse = 1 / args[0][i]
			}
			if !block.IsAbsent(v) {
				values[i] = math.Floor(v*inverse+0.5) / inverse
			}
		}
	}}
}

// Clamp has the least value, the greatest, or both as arguments.
func Clamp(name string, args []*operator.Node) *operator.Mapping {
	return &operator.Mapping{Drops: true, Args: args, Apply: func(values []float64, args [][]float64) {
		least, most := math.Inf(-1), math.Inf(1)
		for i, v := range values {
			switch name {
			case "clamp_min":
				least = args[0][i]
			case "clamp_max":
				most = args[0][i]
			default:
				least, most = args[0][i], args[1][i]
			}
			switch {
			case block.IsAbsent(v):
			case most < least:
				values[i] = block.Absent
			default:
				values[i] = math.Max(least, math.Min(most, v))
			}
		}
	}}
}

// Stamp is timestamp(v) of an expression: the time of the step where it has a value.
func Stamp(now *operator.Node) *operator.Mapping {
	return &operator.Mapping{Drops: true, Args: []*operator.Node{now}, Apply: func(values []float64, args [][]float64) {
		for i, v := range values {
			if !block.IsAbsent(v) {
				values[i] = args[0][i]
			}
		}
	}, Histogram: func(_ int, _ *histogram.FloatHistogram, args [][]float64, step int) binop.Result {
		return binop.Result{Operand: binop.Operand{Number: args[0][step]}, Keep: true}
	}}
}
