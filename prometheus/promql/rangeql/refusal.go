package rangeql

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// errSameLabels is the library's error of an expression that makes several series with the same
// labels.
var errSameLabels = errors.New("vector cannot contain metrics with the same labelset") //nolint:gochecknoglobals // a sentinel

// A refusal is an expression that the library refuses to evaluate, after it has evaluated the
// inputs. The error is in the library's words.
type refusal struct {
	before []*node
	err    error
}

func (o refusal) inputs() []*node { return o.before }

func (refusal) name() string { return "refusal" }

func (o refusal) eval(e *evaluation) (*block.Block, error) {
	for _, n := range o.before {
		b, err := n.block(e)
		if err != nil {
			return nil, err
		}
		e.release(b)
	}
	return nil, o.err
}

// empty is an expression at no steps.
type empty struct{ grid block.Grid }

func (empty) inputs() []*node { return nil }

func (empty) name() string { return "no steps" }

func (o empty) eval(e *evaluation) (*block.Block, error) {
	b := e.newBlock(o.grid)
	return b, e.seal(b)
}
