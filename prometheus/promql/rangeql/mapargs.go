package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// negate is the unary minus.
func negate() *mapping {
	m := each(func(v float64) float64 { return -v })
	m.histogram = func(_ int, h *histogram.FloatHistogram, _ [][]float64, _ int) result {
		return kept(h.Copy().Mul(-1))
	}
	return m
}

// round has the number as argument to whose multiples it rounds, if it is given.
func round(args []*node) *mapping {
	return &mapping{drops: true, args: args, apply: func(values []float64, args [][]float64) {
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

// clamp has the least value, the greatest, or both as arguments.
func clamp(name string, args []*node) *mapping {
	return &mapping{drops: true, args: args, apply: func(values []float64, args [][]float64) {
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

// stamp is timestamp(v) of an expression: the time of the step where it has a value.
func stamp(now *node) *mapping {
	return &mapping{drops: true, args: []*node{now}, apply: func(values []float64, args [][]float64) {
		for i, v := range values {
			if !block.IsAbsent(v) {
				values[i] = args[0][i]
			}
		}
	}, histogram: func(_ int, _ *histogram.FloatHistogram, args [][]float64, step int) result {
		return result{operand: operand{number: args[0][step]}, keep: true}
	}}
}
