package instantfn

import (
	"math"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Number is a literal.
type Number struct {
	Grid  block.Grid
	Value float64
}

// Eval implements operator.Operator.
func (o Number) Eval(e *operator.Evaluation) (*block.Block, error) {
	return scalarBlock(e, o.Grid, func(int) float64 { return o.Value })
}

// Inputs implements operator.Operator.
func (o Number) Inputs() []*operator.Node { return nil }

// Clock is time(), or a function of the calendar without an argument.
type Clock struct {
	Grid block.Grid
	Of   func(millis int64) float64
}

// Eval implements operator.Operator.
func (o Clock) Eval(e *operator.Evaluation) (*block.Block, error) {
	return scalarBlock(e, o.Grid, func(step int) float64 { return o.Of(o.Grid.Time(step)) })
}

// Inputs implements operator.Operator.
func (o Clock) Inputs() []*operator.Node { return nil }

// Scalars is an operation with two scalars.
type Scalars struct {
	Grid        block.Grid
	Of          func(l, r float64) float64
	Left, Right *operator.Node
}

// Eval implements operator.Operator.
func (o Scalars) Eval(e *operator.Evaluation) (*block.Block, error) {
	lb, l, err := o.Left.Values(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(lb)
	rb, r, err := o.Right.Values(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(rb)
	return scalarBlock(e, o.Grid, func(step int) float64 { return o.Of(l[step], r[step]) })
}

// Inputs implements operator.Operator.
func (o Scalars) Inputs() []*operator.Node { return []*operator.Node{o.Left, o.Right} }

// ToScalar is scalar(v): the value where there is exactly one.
type ToScalar struct {
	Grid  block.Grid
	Input *operator.Node
}

// Inputs implements operator.Operator.
func (o ToScalar) Inputs() []*operator.Node { return []*operator.Node{o.Input} }

// Eval implements operator.Operator.
func (o ToScalar) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	return scalarBlock(e, o.Grid, func(step int) float64 {
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
func scalarBlock(e *operator.Evaluation, g block.Grid, f func(step int) float64) (*block.Block, error) {
	b := e.NewBlock(g)
	values, err := b.Memory.Take(g.Steps)
	if err != nil {
		return nil, err
	}
	for step := range values {
		values[step] = f(step)
	}
	b.Series = []block.Series{{Values: values}}
	return b, e.Seal(b)
}

// Constant reports whether nodes read nothing.
func Constant(nodes ...*operator.Node) bool {
	for _, n := range nodes {
		switch o := n.Operator.(type) {
		case Number, Clock:
		case Scalars:
			if !Constant(o.Left, o.Right) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
