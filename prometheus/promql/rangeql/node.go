package rangeql

import (
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// An operator computes the value of one expression at the steps of its grid.
type operator interface {
	// eval returns a new block. The caller frees it.
	eval(e *evaluation) (*block.Block, error)
	// inputs are the operators below.
	inputs() []*node
	// name is the kind of the operator, for explanations.
	name() string
}

// A sampler is an operator that evaluates samples.
type sampler interface {
	// sampled returns the samples that were seen by all steps, and that were read.
	sampled() (total, read int64)
}

// A reader is an operator that reads series.
type reader interface{ reads() []*read }

// A node is an operator in the plan of a query. Equal expressions at the same steps share one.
type node struct {
	operator
	grid  block.Grid
	text  string // of the expression
	expr  parser.Expr
	users int // operators above it

	result  *block.Block
	err     error
	done    bool
	rows    int // series of the result
	samples int // of the result
	took    time.Duration
}

// block returns the value of the node. Each operator above it asks once, and calls release.
func (n *node) block(e *evaluation) (*block.Block, error) {
	if !n.done {
		if err := e.ended(); err != nil {
			return nil, err
		}
		n.done = true
		watch := e.start()
		n.result, n.err = n.eval(e)
		n.took = e.stop(watch)
		switch {
		case n.err == nil:
			n.result.Users = n.users
			n.rows, n.samples = len(n.result.Series), n.result.Samples
			n.err = n.holdInputs(e)
		case n.result != nil:
			e.discard(n.result)
		}
	}
	return n.result, n.err
}

// holdInputs counts what the library holds besides the result: the inputs, and those of one step a
// second time.
func (n *node) holdInputs(e *evaluation) error {
	more := 1
	for _, in := range n.inputs() {
		more += in.samples + in.rows
	}
	return e.peak(more)
}

// counts returns the samples that the library's statistics count for an expression: seen by all
// steps, and read. It counts an expression as often as it is written.
func (n *node) counts() (total, read int64) {
	if o, ok := n.operator.(sampler); ok {
		total, read = o.sampled()
	}
	for i, in := range n.inputs() {
		t, r := in.counts()
		switch o := n.operator.(type) {
		case repeat:
			t *= int64(o.grid.Steps)
		case *subquery:
			if i == 0 {
				t = 0 // The windows count.
			}
		}
		total, read = total+t, read+r
	}
	return total, read
}

// release ends the use of a block by one operator.
func (e *evaluation) release(b *block.Block) {
	if b.Users--; b.Users == 0 {
		e.let(b.Samples)
		e.discard(b)
	}
}

// both returns the values of two nodes. The caller calls release when it does not return an error.
func (e *evaluation) both(left, right *node) (l, r *block.Block, release func(), err error) {
	if l, err = left.block(e); err != nil {
		return nil, nil, nil, err
	}
	if r, err = right.block(e); err != nil {
		e.release(l)
		return nil, nil, nil, err
	}
	return l, r, func() { e.release(l); e.release(r) }, nil
}

// arguments returns the values of scalars at each step. The caller calls release when it does not
// return an error.
func (e *evaluation) arguments(args []*node) (values [][]float64, release func(), err error) {
	var blocks []*block.Block
	release = func() {
		for _, b := range blocks {
			e.release(b)
		}
	}
	for _, a := range args {
		b, v, err := a.values(e)
		if err != nil {
			release()
			return nil, nil, err
		}
		blocks, values = append(blocks, b), append(values, v)
	}
	return values, release, nil
}

// values returns the value of a scalar expression at each step.
func (n *node) values(e *evaluation) (*block.Block, []float64, error) {
	b, err := n.block(e)
	if err != nil {
		return nil, nil, err
	}
	if len(b.Series) == 0 { // no steps
		return b, nil, nil
	}
	return b, b.Series[0].Values, nil
}
