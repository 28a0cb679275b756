package plan

import (
	"maps"
	"reflect"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/histograms"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// An annotator makes the annotations of a query of those of its operators, in the order in which the
// library evaluates and merges them: which of equal annotations shows its position, and how many samples
// an annotation counts, depend on that order. An operator that several equal expressions share has the
// positions of the first; the others get theirs.
type annotator struct {
	plan    *planner
	repairs *annotation.Repairs // nil: not recorded
	steps   block.Grid          // of the query
}

// A noter is an operator that makes annotations.
type noter interface {
	// AllNotes returns them, in the order of what the operator stands for.
	AllNotes() []*annotation.Notes
}

// annotations returns those of a query that has been evaluated.
func (p *Plan) annotations(e *operator.Evaluation) annotations.Annotations {
	if !p.hasNotes(e.Repairs != nil) {
		return nil
	}
	return (&annotator{p.planner, e.Repairs, e.Steps}).of(p.Expr, p.Grid)
}

// hasNotes reports whether any operator has made an annotation, or may have repaired buckets if that is wanted.
func (p *Plan) hasNotes(repairs bool) bool {
	for _, l := range p.planner.leaves {
		if hasNotes(l.leaf) {
			return true
		}
	}
	for _, n := range p.planner.nodes {
		_, ofBuckets := n.Operator.(*histograms.Buckets)
		if o, ok := n.Operator.(noter); ok && (repairs && ofBuckets || hasNotes(o)) {
			return true
		}
	}
	return false
}

func hasNotes(o noter) bool {
	return slices.ContainsFunc(o.AllNotes(), func(n *annotation.Notes) bool { return !n.Empty() })
}

// of returns the annotations of an expression.
func (a *annotator) of(expr parser.Expr, g block.Grid) annotations.Annotations {
	expr = bare(expr)
	if s, ok := expr.(*parser.StepInvariantExpr); ok {
		return a.of(s.Expr, g.Single())
	}
	if g.Steps == 0 {
		return nil
	}
	key := keyOf(expr, g)
	if l, ok := a.plan.leaves[key]; ok {
		all := a.ofInputs(argumentsOfLeaf(expr), g)
		a.add(&all, l.leaf.AllNotes(), newShift(l.node.Expr, expr))
		return all
	}
	all := a.ofInputs([]parser.Expr{expr}, g)
	n := a.plan.nodes[key]
	if n == nil {
		return all
	}
	moves := newShift(n.Expr, expr)
	switch o := n.Operator.(type) {
	case *histograms.Buckets:
		a.add(&all, o.AllNotes(), moves)
		a.addRepairs(&all, o, moves)
	case noter:
		a.add(&all, o.AllNotes(), moves)
	}
	return all
}

// add merges the annotations of operators.
func (a *annotator) add(all *annotations.Annotations, own []*annotation.Notes, moves shift) {
	for _, n := range own {
		made := n.Annotations()
		for _, text := range slices.Sorted(maps.Keys(made)) {
			all.Add(moves.moved(made[text]))
		}
	}
}

// addRepairs merges the annotations of repaired buckets.
func (a *annotator) addRepairs(all *annotations.Annotations, o *histograms.Buckets, moves shift) {
	position := moves.of(o.Position)
	before := len(*all)
	for _, name := range slices.Sorted(maps.Keys(o.Repairs)) {
		r := annotation.Repaired{Position: position, Steps: o.Repairs[name]}
		r.AddTo(all, name, o.Grid.Start, o.Grid.End(), o.Grid.Interval)
		known := name == "" && o.Grid == a.steps && len(*all) > before
		if before = len(*all); !known {
			a.repairs.SetIncomplete()
		}
	}
	if !o.Fraction {
		a.repairs.Add(annotation.Repaired{Position: position, Steps: o.Repairs[""]})
	}
}

// ofInputs returns the annotations of what the library evaluates for expressions before their own
// functions and operators.
func (a *annotator) ofInputs(exprs []parser.Expr, g block.Grid) annotations.Annotations {
	var all annotations.Annotations
	for _, e := range exprs {
		switch e := e.(type) {
		case *parser.UnaryExpr:
			all.Merge(a.of(e.Expr, g))
		case *parser.BinaryExpr:
			all.Merge(a.of(e.LHS, g))
			all.Merge(a.of(e.RHS, g))
		case *parser.AggregateExpr:
			if e.Param != nil {
				all.Merge(a.of(e.Param, g))
			}
			all.Merge(a.of(e.Expr, g))
		case *parser.SubqueryExpr:
			if inner, _, err := a.plan.options.subqueryGrid(e, g); err == nil {
				all.Merge(a.of(e.Expr, inner))
			}
		case *parser.Call:
			all.Merge(a.ofArguments(e, g))
		}
	}
	return all
}

// ofArguments returns the annotations of the arguments of a function. A subquery comes first.
func (a *annotator) ofArguments(e *parser.Call, g block.Grid) annotations.Annotations {
	args := e.Args
	if e.Func.Name == "info" {
		args = args[:1]
	}
	var all annotations.Annotations
	for _, arg := range args {
		if sq, ok := arg.(*parser.SubqueryExpr); ok {
			all.Merge(a.ofInputs([]parser.Expr{sq}, g))
		}
	}
	for _, arg := range args {
		if arg.Type() != parser.ValueTypeMatrix {
			all.Merge(a.of(arg, g))
		}
	}
	return all
}

// argumentsOfLeaf returns the call of a leaf whose range is a selector's, empty if it has none.
func argumentsOfLeaf(expr parser.Expr) []parser.Expr {
	for {
		switch e := bare(expr).(type) {
		case *parser.UnaryExpr:
			expr = e.Expr
		case *parser.BinaryExpr:
			expr = e.LHS
			if e.LHS.Type() == parser.ValueTypeScalar {
				expr = e.RHS
			}
		case *parser.Call:
			if slices.ContainsFunc(e.Args, func(a parser.Expr) bool { return a.Type() == parser.ValueTypeMatrix }) {
				return []parser.Expr{e}
			}
			expr = e.Args[0]
		default:
			return nil
		}
	}
}

// A shift maps the positions of an expression to those of an equal one.
type shift map[posrange.PositionRange]posrange.PositionRange

// newShift returns an empty shift where the expressions are one.
func newShift(from, to parser.Expr) shift {
	if from == nil || bare(from) == bare(to) {
		return nil
	}
	before, after := positionsOf(from), positionsOf(to)
	if len(before) != len(after) {
		return nil
	}
	s := make(shift, len(before))
	for i, p := range before {
		s[p] = after[i]
	}
	return s
}

// positionsOf returns the positions of an expression and its parts.
func positionsOf(expr parser.Expr) []posrange.PositionRange {
	var all []posrange.PositionRange
	parser.Inspect(bare(expr), func(n parser.Node, _ []parser.Node) error {
		switch n.(type) {
		case nil, *parser.StepInvariantExpr: // which is there or not
		default:
			all = append(all, n.PositionRange())
		}
		return nil
	})
	return all
}

// of returns the position that another one becomes.
func (s shift) of(p posrange.PositionRange) posrange.PositionRange {
	if to, ok := s[p]; ok {
		return to
	}
	return p
}

// moved returns an annotation at its position. The module gives no other access to that than a field of a
// type that is not exported.
func (s shift) moved(err error) error {
	if s == nil {
		return err
	}
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return err
	}
	moved := reflect.New(v.Elem().Type())
	moved.Elem().Set(v.Elem())
	field := moved.Elem().FieldByName("PositionRange")
	if !field.IsValid() {
		return err
	}
	if at, ok := reflect.TypeAssert[*posrange.PositionRange](field.Addr()); ok {
		*at = s.of(*at)
	}
	return moved.Interface().(error)
}
