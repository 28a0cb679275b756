package rangeql

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
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

func (o refusal) eval(e *evaluation) (*block, error) {
	for _, n := range o.before {
		b, err := n.block(e)
		if err != nil {
			return nil, err
		}
		e.release(b)
	}
	return nil, o.err
}

// refusedRange returns the error of a function whose range is anchored or smoothed although the
// function does not support that; nil if it does.
func refusedRange(e *parser.Call) error {
	for _, a := range e.Args {
		m, ok := a.(*parser.MatrixSelector)
		if !ok {
			continue
		}
		vs := m.VectorSelector.(*parser.VectorSelector)
		switch {
		case vs.Anchored:
			return refusedModifier("anchored", e.Func.Name, promql.AnchoredSafeFunctions)
		case vs.Smoothed:
			return refusedModifier("smoothed", e.Func.Name, promql.SmoothedSafeFunctions)
		}
	}
	return nil
}

func refusedModifier(modifier, function string, safe map[string]struct{}) error {
	if _, ok := safe[function]; ok {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(safe)), ", ")
	return fmt.Errorf("%s modifier can only be used with: %s - not with %s", modifier, names, function)
}

// refuse returns a refusal that comes after the evaluation of those arguments that are no range.
func (p *planner) refuse(e *parser.Call, err error, g grid) (operator, error) {
	o := refusal{err: err}
	for _, a := range e.Args {
		if a.Type() == parser.ValueTypeMatrix {
			continue
		}
		n, err := p.node(a, g)
		if err != nil {
			return nil, err
		}
		o.before = append(o.before, n)
	}
	return o, nil
}

// empty is an expression at no steps.
type empty struct{ grid grid }

func (empty) inputs() []*node { return nil }

func (o empty) eval(e *evaluation) (*block, error) {
	b := e.newBlock(o.grid)
	return b, e.seal(b)
}
