package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/aggregate"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/histograms"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/instantfn"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// call returns the operator of a function, or the node of its argument if the function changes
// nothing.
func (p *planner) call(e *parser.Call, g block.Grid) (operator.Operator, error) {
	name := e.Func.Name
	if err := refusedRange(e); err != nil {
		return p.refuse(e, err, g)
	}
	switch name {
	case "time":
		return instantfn.Clock{Grid: g, Of: func(millis int64) float64 { return float64(millis) / 1000 }}, nil
	case "pi":
		return instantfn.Number{Grid: g, Value: math.Pi}, nil
	case "vector":
		return p.node(e.Args[0], g)
	case "scalar":
		n, err := p.node(e.Args[0], g)
		return instantfn.ToScalar{Grid: g, Input: n}, err
	case "max_of", "min_of":
		return p.extreme(e, g)
	case "absent", "absent_over_time":
		return p.missing(e, g)
	case "label_replace", "label_join":
		return p.relabel(e, g)
	case "info":
		return p.info(e, g)
	case "sort", "sort_desc", "sort_by_label", "sort_by_label_desc":
		return p.sorting(e, g)
	case "histogram_quantile", "histogram_quantiles", "histogram_fraction":
		return p.buckets(e, g)
	case "timestamp", "round", "clamp", "clamp_min", "clamp_max":
		return p.mappingWithArgs(e, g)
	}
	if part := instantfn.CalendarOf(name); part != nil && len(e.Args) == 0 {
		return instantfn.Clock{Grid: g, Of: func(millis int64) float64 { return part(time.Unix(millis/1000, 0).UTC()) }}, nil
	}
	if m := instantfn.Of(name); m != nil && len(e.Args) == 1 {
		n, err := p.node(e.Args[0], g)
		return instantfn.Mapped{Mapping: m, Input: n}, err
	}
	if f := rangefn.Of(name); f != nil && len(e.Args) == f.Args+1 {
		if sq, ok := e.Args[f.Matrix].(*parser.SubqueryExpr); ok {
			return p.subquery(e, f, sq, g)
		}
	}
	return nil, notPlanned("the function %s", name)
}

// all returns the nodes of expressions.
func (p *planner) all(exprs parser.Expressions, g block.Grid) ([]*operator.Node, error) {
	nodes := make([]*operator.Node, len(exprs))
	for i, e := range exprs {
		n, err := p.node(e, g)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

// extreme is max_of or min_of.
func (p *planner) extreme(e *parser.Call, g block.Grid) (operator.Operator, error) {
	args, err := p.all(e.Args, g)
	if err != nil {
		return nil, err
	}
	f := math.Max
	if e.Func.Name == "min_of" {
		f = math.Min
	}
	return instantfn.Scalars{Grid: g, Of: f, Left: args[0], Right: args[1]}, nil
}

// mappingWithArgs returns a mapping that depends on the step.
func (p *planner) mappingWithArgs(e *parser.Call, g block.Grid) (operator.Operator, error) {
	input, err := p.node(e.Args[0], g)
	if err != nil {
		return nil, err
	}
	if e.Func.Name == "timestamp" {
		now := &operator.Node{Operator: instantfn.Clock{Grid: g, Of: func(millis int64) float64 { return float64(millis) / 1000 }}, Grid: g, Users: 1}
		return instantfn.Mapped{Mapping: instantfn.Stamp(now), Input: input}, nil
	}
	args, err := p.all(e.Args[1:], g)
	if err != nil {
		return nil, err
	}
	if e.Func.Name == "round" {
		return instantfn.Mapped{Mapping: instantfn.Round(args), Input: input}, nil
	}
	return instantfn.Mapped{Mapping: instantfn.Clamp(e.Func.Name, args), Input: input}, nil
}

// missing returns absent or absent_over_time.
func (p *planner) missing(e *parser.Call, g block.Grid) (operator.Operator, error) {
	o := &instantfn.Absent{Grid: g}
	var err error
	if e.Func.Name == "absent" {
		o.Labels = instantfn.AbsentLabels(e.Args[0])
		o.Input, err = p.input(e.Args[0], g, o)
		return o, err
	}
	o.DropName = true
	present := *e
	present.Func = parser.Functions["present_over_time"]
	o.Labels = instantfn.AbsentLabels(e.Args[0])
	o.Input, err = p.input(&present, g, o)
	switch {
	case err != nil:
	case o.Input.Leaf != nil:
		o.Input.Leaf.Absent = true
	default:
		o.Input.Node.Operator.(*operator.Subquery).Absent = true
	}
	return o, err
}

func (p *planner) relabel(e *parser.Call, g block.Grid) (operator.Operator, error) {
	texts, err := literals(e.Args[1:])
	if err != nil {
		return nil, err
	}
	if err := instantfn.RefusedLabels(e.Func.Name, texts); err != nil {
		return operator.Refusal{Err: err}, nil
	}
	o := instantfn.Relabel{Label: texts[0]}
	if e.Func.Name == "label_replace" {
		o.Value = instantfn.Replacement(texts[2], texts[3], texts[1])
	} else {
		o.Value = instantfn.Joined(texts[1], texts[2:])
	}
	o.Input, err = p.node(e.Args[0], g)
	return o, err
}

// literals returns the texts of arguments, which are not nil.
func literals(args parser.Expressions) ([]string, error) {
	texts := make([]string, 0, len(args))
	for _, a := range args {
		s, ok := a.(*parser.StringLiteral)
		if !ok {
			return nil, notPlanned("a label that is no literal")
		}
		texts = append(texts, s.Val)
	}
	return texts, nil
}

func (p *planner) sorting(e *parser.Call, g block.Grid) (_ operator.Operator, err error) {
	o := instantfn.Sorting{Grid: g, Position: e.PositionRange(), Notes: &annotation.Notes{}, Descending: e.Func.Name == "sort_desc" || e.Func.Name == "sort_by_label_desc"}
	if e.Func.Name == "sort_by_label" || e.Func.Name == "sort_by_label_desc" {
		if o.ByLabels, err = literals(e.Args[1:]); err != nil {
			return nil, err
		}
	}
	o.Input, err = p.node(e.Args[0], g)
	return o, err
}

func (p *planner) buckets(e *parser.Call, g block.Grid) (operator.Operator, error) {
	o := &histograms.Buckets{Grid: g}
	var vector parser.Expr
	var args parser.Expressions
	switch e.Func.Name {
	case "histogram_quantile":
		vector, args = e.Args[1], e.Args[:1]
	case "histogram_fraction":
		vector, args, o.Fraction = e.Args[2], e.Args[:2], true
	default:
		label, ok := e.Args[1].(*parser.StringLiteral)
		if !ok || label.Val == "" {
			return nil, notPlanned("a label that is no literal")
		}
		vector, args, o.Label = e.Args[0], e.Args[2:], label.Val
	}
	o.Position = vector.PositionRange()
	var err error
	if o.Args, err = p.all(args, g); err != nil {
		return nil, err
	}
	for _, a := range args {
		o.At = append(o.At, a.PositionRange())
	}
	o.Input, err = p.node(vector, g)
	return o, err
}

func (p *planner) countValues(e *parser.AggregateExpr, g block.Grid) (operator.Operator, error) {
	label, ok := bare(e.Param).(*parser.StringLiteral)
	switch {
	case !ok:
		return nil, notPlanned("a label that is no literal")
	case !model.UTF8Validation.IsValidLabelName(label.Val):
		return operator.Refusal{Err: fmt.Errorf("invalid label name %s", label)}, nil
	}
	o := &aggregate.CountValues{Grid: g, Label: label.Val}
	if e.Without {
		o.Grouping = aggregate.NewGrouping(e)
	} else {
		o.Grouping = aggregate.NewGrouping(e, label.Val)
	}
	var err error
	o.Input, err = p.node(e.Expr, g)
	return o, err
}

// orderedInput is the input of an aggregation whose argument may read something: that comes first.
func (p *planner) orderedInput(expr parser.Expr, g block.Grid, argument *operator.Node, to operator.Sink) (operator.Input, error) {
	if instantfn.Constant(argument) {
		return p.input(expr, g, to)
	}
	n, err := p.node(expr, g)
	return operator.Input{Node: n}, err
}

// refuse returns a refusal that comes after the evaluation of those arguments that are no range.
func (p *planner) refuse(e *parser.Call, err error, g block.Grid) (operator.Operator, error) {
	isRange := func(a parser.Expr) bool { return a.Type() == parser.ValueTypeMatrix }
	before, cause := p.all(slices.DeleteFunc(slices.Clone(e.Args), isRange), g)
	return operator.Refusal{Before: before, Err: err}, cause
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
