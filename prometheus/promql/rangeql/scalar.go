package rangeql

import (
	"math"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// number is a literal.
type number struct {
	grid  block.Grid
	value float64
}

func (o number) eval(e *evaluation) (*block.Block, error) {
	return scalarBlock(e, o.grid, func(int) float64 { return o.value })
}

func (o number) inputs() []*node { return nil }

func (number) name() string { return "number" }

// clock is time(), or a function of the calendar without an argument.
type clock struct {
	grid block.Grid
	of   func(millis int64) float64
}

func (o clock) eval(e *evaluation) (*block.Block, error) {
	return scalarBlock(e, o.grid, func(step int) float64 { return o.of(o.grid.Time(step)) })
}

func (o clock) inputs() []*node { return nil }

func (clock) name() string { return "time" }

// scalars is an operation with two scalars.
type scalars struct {
	grid        block.Grid
	of          func(l, r float64) float64
	left, right *node
}

func (o scalars) eval(e *evaluation) (*block.Block, error) {
	lb, l, err := o.left.values(e)
	if err != nil {
		return nil, err
	}
	defer e.release(lb)
	rb, r, err := o.right.values(e)
	if err != nil {
		return nil, err
	}
	defer e.release(rb)
	return scalarBlock(e, o.grid, func(step int) float64 { return o.of(l[step], r[step]) })
}

func (o scalars) inputs() []*node { return []*node{o.left, o.right} }

func (scalars) name() string { return "scalar operation" }

// toScalar is scalar(v): the value where there is exactly one.
type toScalar struct {
	grid  block.Grid
	input *node
}

func (o toScalar) inputs() []*node { return []*node{o.input} }

func (toScalar) name() string { return "scalar" }

func (o toScalar) eval(e *evaluation) (*block.Block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	return scalarBlock(e, o.grid, func(step int) float64 {
		found, result := false, math.NaN()
		for i := range in.Series {
			v, ok := in.Series[i].At(step)
			switch {
			case !ok:
			case found:
				return math.NaN()
			default:
				found, result = true, v
			}
		}
		return result
	})
}

// scalarBlock returns the block of a scalar: one series without labels and with a value at each
// step.
func scalarBlock(e *evaluation, g block.Grid, f func(step int) float64) (*block.Block, error) {
	b := e.newBlock(g)
	values, err := b.Memory.Take(g.Steps)
	if err != nil {
		return nil, err
	}
	for step := range values {
		values[step] = f(step)
	}
	b.Series = []block.Series{{Values: values}}
	return b, e.seal(b)
}
