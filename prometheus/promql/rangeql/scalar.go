package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/promql/parser"
)

// scalarBlock returns the block of a scalar: one series without labels and with a value at each
// step.
func (e *evaluation) scalarBlock(g grid, f func(step int) float64) (*block, error) {
	b := e.newBlock(g)
	values, err := b.memory.take(g.steps)
	if err != nil {
		return nil, err
	}
	for step := range values {
		values[step] = f(step)
	}
	b.series = []series{{values: values}}
	return b, e.seal(b)
}

// number is a literal.
type number struct {
	grid  grid
	value float64
}

func (o number) eval(e *evaluation) (*block, error) {
	return e.scalarBlock(o.grid, func(int) float64 { return o.value })
}

func (o number) inputs() []*node { return nil }

// clock is time(), or a function of the calendar without an argument.
type clock struct {
	grid grid
	of   func(millis int64) float64
}

func (o clock) eval(e *evaluation) (*block, error) {
	return e.scalarBlock(o.grid, func(step int) float64 { return o.of(o.grid.time(step)) })
}

func (o clock) inputs() []*node { return nil }

// scalars is an operation with two scalars.
type scalars struct {
	grid        grid
	of          func(l, r float64) float64
	left, right *node
}

func (o scalars) eval(e *evaluation) (*block, error) {
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
	return e.scalarBlock(o.grid, func(step int) float64 { return o.of(l[step], r[step]) })
}

func (o scalars) inputs() []*node { return []*node{o.left, o.right} }

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

// toScalar is scalar(v): the value where there is exactly one.
type toScalar struct {
	grid  grid
	input *node
}

func (o toScalar) inputs() []*node { return []*node{o.input} }

func (o toScalar) eval(e *evaluation) (*block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	return e.scalarBlock(o.grid, func(step int) float64 {
		found, result := false, math.NaN()
		for i := range in.series {
			v, ok := in.series[i].at(step)
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
