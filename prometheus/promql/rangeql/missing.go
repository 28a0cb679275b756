package rangeql

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// missing is absent(v) or absent_over_time(r): 1 at the steps at which no series has a value.
type missing struct {
	input  input
	grid   block.Grid
	labels labels.Labels
	// dropName is what the library sets for the answer.
	dropName bool

	found []bool // at each step
}

// begin implements sink.
func (o *missing) begin(*evaluation) error {
	o.found = make([]bool, o.grid.Steps)
	return nil
}

// add implements sink.
func (o *missing) add(_ *evaluation, s *block.Series, _ bool) error {
	for step := s.From; step < s.To(); step++ {
		o.found[step] = o.found[step] || s.Has(step)
	}
	return nil
}

func (o *missing) inputs() []*node { return []*node{o.input.node} }

func (*missing) name() string { return "absent" }

func (o *missing) eval(e *evaluation) (*block.Block, error) {
	if err := o.input.feed(e, o); err != nil {
		return nil, err
	}
	b := e.newBlock(o.grid)
	values, err := b.Memory.Take(o.grid.Steps)
	if err != nil {
		return b, err
	}
	for step := range values {
		values[step] = 1
		if o.found[step] {
			values[step] = block.Absent
		}
	}
	s := block.Series{Labels: o.labels, DropName: o.dropName, Values: values}
	s.Trim()
	b.Series = []block.Series{s}
	return b, e.seal(b)
}

// labelsOfMissing returns the labels that a selector asks for exactly.
func labelsOfMissing(expr parser.Expr) labels.Labels {
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
