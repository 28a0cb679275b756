package instantfn

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Absent is absent(v) or absent_over_time(r): 1 at the steps at which no series has a value.
type Absent struct {
	Input  operator.Input
	Grid   block.Grid
	Labels labels.Labels
	// DropName is what the library sets for the answer.
	DropName bool

	found []bool // at each step
}

// Begin implements sink.
func (o *Absent) Begin(*operator.Evaluation) error {
	o.found = make([]bool, o.Grid.Steps)
	return nil
}

// Add implements sink.
func (o *Absent) Add(_ *operator.Evaluation, s *block.Series, _ bool) error {
	for step := s.From; step < s.To(); step++ {
		o.found[step] = o.found[step] || s.Has(step)
	}
	return nil
}

// Inputs implements operator.Operator.
func (o *Absent) Inputs() []*operator.Node { return []*operator.Node{o.Input.Node} }

// Eval implements operator.Operator.
func (o *Absent) Eval(e *operator.Evaluation) (*block.Block, error) {
	if err := o.Input.Feed(e, o); err != nil {
		return nil, err
	}
	b := e.NewBlock(o.Grid)
	values, err := b.Memory.Take(o.Grid.Steps)
	if err != nil {
		return b, err
	}
	for step := range values {
		values[step] = 1
		if o.found[step] {
			values[step] = block.Absent
		}
	}
	s := block.Series{Labels: o.Labels, DropName: o.DropName, Values: values}
	s.Trim()
	b.Series = []block.Series{s}
	return b, e.Seal(b)
}

// AbsentLabels returns the labels that a selector asks for exactly.
func AbsentLabels(expr parser.Expr) labels.Labels {
	var matchers []*labels.Matcher
	switch n := expr.(type) {
	case *parser.VectorSelector:
		matchers = n.LabelMatchers
	case *parser.MatrixSelector:
		matchers = n.VectorSelector.(*parser.VectorSelector).LabelMatchers
	default:
		return labels.EmptyLabels()
	}
	b := labels.NewBuilder(labels.EmptyLabels())
	seen := map[string]bool{}
	for _, m := range matchers {
		switch {
		case m.Name == model.MetricNameLabel:
		case m.Type == labels.MatchEqual && !seen[m.Name]:
			b.Set(m.Name, m.Value)
			seen[m.Name] = true
		default:
			b.Del(m.Name)
		}
	}
	return b.Labels()
}
