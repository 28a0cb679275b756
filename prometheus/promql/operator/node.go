// Package operator evaluates the tree of operators of a query. A node has the block of its operator, which
// it computes once; leaves evaluate selectors while their series are read, and feed the aggregations above
// them. The operators of functions, joins and aggregations are in packages of their own.
package operator

import (
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// An Operator computes the value of one expression at the steps of its grid.
type Operator interface {
	// Eval returns a new block. The caller frees it.
	Eval(e *Evaluation) (*block.Block, error)
	// Inputs are the operators below.
	Inputs() []*Node
}

// A Sampler is an operator that evaluates samples.
type Sampler interface {
	// Sampled returns the samples that were seen by all steps, and that were read.
	Sampled() (total, read int64)
}

// A Reader is an operator that reads series.
type Reader interface{ Reads() []*Read }

// A Node is an operator in the plan of a query. Equal expressions at the same steps share one.
type Node struct {
	Operator
	Grid  block.Grid
	Text  string // of the expression
	Expr  parser.Expr
	Users int // operators above it

	result  *block.Block
	err     error
	Done    bool
	Rows    int // series of the result
	Samples int // of the result
	Took    time.Duration
}

// Block returns the value of the node. Each operator above it asks once, and calls release.
func (n *Node) Block(e *Evaluation) (*block.Block, error) {
	if !n.Done {
		if err := e.Ended(); err != nil {
			return nil, err
		}
		n.Done = true
		watch := e.Start()
		n.result, n.err = n.Eval(e)
		n.Took = e.Stop(watch)
		switch {
		case n.err == nil:
			n.result.Users = n.Users
			n.Rows, n.Samples = len(n.result.Series), n.result.Samples
			n.err = n.holdInputs(e)
		case n.result != nil:
			e.discard(n.result)
		}
	}
	return n.result, n.err
}

// holdInputs counts what the library holds in addition to the result: the inputs, and those of one step a
// second time.
func (n *Node) holdInputs(e *Evaluation) error {
	more := 1
	for _, in := range n.Inputs() {
		more += in.Samples + in.Rows
	}
	return e.Peak(more)
}

// Counts returns the samples that the library's statistics count for an expression: seen by all
// steps, and read. It counts an expression as often as it is written.
func (n *Node) Counts() (total, read int64) {
	if o, ok := n.Operator.(Sampler); ok {
		total, read = o.Sampled()
	}
	for i, in := range n.Inputs() {
		t, r := in.Counts()
		switch o := n.Operator.(type) {
		case Repeat:
			t *= int64(o.Grid.Steps)
		case *Subquery:
			if i == 0 {
				t = 0 // The windows count.
			}
		}
		total, read = total+t, read+r
	}
	return total, read
}

// Release ends the use of a block by one operator.
func (e *Evaluation) Release(b *block.Block) {
	if b.Users--; b.Users == 0 {
		e.Unhold(b.Samples)
		e.discard(b)
	}
}

// Both returns the values of two nodes. The caller calls release when it does not return an error.
func (e *Evaluation) Both(left, right *Node) (l, r *block.Block, release func(), err error) {
	if l, err = left.Block(e); err != nil {
		return nil, nil, nil, err
	}
	if r, err = right.Block(e); err != nil {
		e.Release(l)
		return nil, nil, nil, err
	}
	return l, r, func() { e.Release(l); e.Release(r) }, nil
}

// Arguments returns the values of scalars at each step. The caller calls release when it does not
// return an error.
func (e *Evaluation) Arguments(args []*Node) (values [][]float64, release func(), err error) {
	var blocks []*block.Block
	release = func() {
		for _, b := range blocks {
			e.Release(b)
		}
	}
	for _, a := range args {
		b, v, err := a.Values(e)
		if err != nil {
			release()
			return nil, nil, err
		}
		blocks, values = append(blocks, b), append(values, v)
	}
	return values, release, nil
}

// Values returns the value of a scalar expression at each step.
func (n *Node) Values(e *Evaluation) (*block.Block, []float64, error) {
	b, err := n.Block(e)
	if err != nil {
		return nil, nil, err
	}
	if len(b.Series) == 0 { // no steps
		return b, nil, nil
	}
	return b, b.Series[0].Values, nil
}
