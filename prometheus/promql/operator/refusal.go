package operator

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// ErrSameLabels is the library's error of an expression that makes several series with the same
// labels.
var ErrSameLabels = errors.New("vector cannot contain metrics with the same labelset") //nolint:gochecknoglobals // a sentinel

// A Refusal is an expression that the library refuses to evaluate, after it has evaluated the
// inputs. The error is in the library's words.
type Refusal struct {
	Before []*Node
	Err    error
}

// Inputs implements Operator.
func (o Refusal) Inputs() []*Node { return o.Before }

// Eval implements Operator.
func (o Refusal) Eval(e *Evaluation) (*block.Block, error) {
	for _, n := range o.Before {
		b, err := n.Block(e)
		if err != nil {
			return nil, err
		}
		e.Release(b)
	}
	return nil, o.Err
}

// Empty is an expression at no steps.
type Empty struct{ Grid block.Grid }

// Inputs implements Operator.
func (Empty) Inputs() []*Node { return nil }

// Eval implements Operator.
func (o Empty) Eval(e *Evaluation) (*block.Block, error) {
	b := e.NewBlock(o.Grid)
	return b, e.Seal(b)
}
