// Package plan makes a tree of operators of a parsed query, and the answer of the block at its root: values,
// annotations in the library's order, and counts of samples. A query that needs what no operator does is not
// planned.
package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/aggregate"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/instantfn"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/join"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// A Plan is the operators of a query.
type Plan struct {
	Grid    block.Grid
	instant bool // one instant was asked for
	kind    parser.ValueType

	Expr    parser.Expr
	planner *planner
	Reads   []*operator.Read
	// One of these gives the answer.
	Root    *operator.Node
	text    *parser.StringLiteral
	Samples *SamplesAnswer
}

// notPlanned is the reason why a query is left to the library from the start.
func notPlanned(format string, a ...any) error {
	return columns.FallbackReason(fmt.Sprintf(format, a...))
}

// Options are those of the library that a plan depends on.
type Options struct {
	// StartTimes means that it uses the start times of samples.
	StartTimes bool
	// DefaultStep is that of a subquery without one; 0: a minute.
	DefaultStep time.Duration
	// InexactSums allows sums of intervals instead of sums of samples.
	InexactSums bool
}

// New makes a plan of a statement that the library has prepared.
func New(s *parser.EvalStmt, o Options) (*Plan, error) {
	p := &planner{
		plan:     &Plan{kind: s.Expr.Type(), Expr: s.Expr},
		options:  o,
		lookback: s.LookbackDelta,
		nodes:    map[planKey]*operator.Node{},
		leaves:   map[planKey]*leafNode{},
	}
	p.plan.planner = p
	start, end, interval := timestamp.FromTime(s.Start), timestamp.FromTime(s.End), s.Interval.Milliseconds()
	switch {
	case s.Start.Equal(s.End) && s.Interval == 0:
		p.plan.instant, p.plan.Grid = true, block.Grid{Start: start, Interval: 1, Steps: 1, Until: start}
	case interval <= 0 || end < start:
		return nil, notPlanned("a range without steps")
	default:
		p.plan.Grid = block.NewGrid(start, end, interval)
	}
	if s.LookbackDelta <= 0 || s.LookbackDelta%time.Millisecond != 0 {
		return nil, notPlanned("a lookback of no whole milliseconds")
	}
	err := p.whole(s.Expr)
	p.plan.Reads = p.reads
	for _, r := range p.reads {
		r.Selector.Newest = r.NeedsNewest()
		if lookback := s.LookbackDelta.Milliseconds(); r.Instants(lookback) {
			r.Selector.Lookback = lookback
		}
		r.Selector.Every, r.Selector.Summaries = r.Every()
	}
	return p.plan, err
}

// whole plans the expression of the query. Strings and ranges are answers of queries for one
// instant alone.
func (p *planner) whole(expr parser.Expr) (err error) {
	switch e := invariant(expr).(type) {
	case *parser.StringLiteral:
		p.plan.text = e
	case *parser.MatrixSelector:
		p.plan.Samples, err = newSamplesAnswer(e, p.plan.Grid, p.lookback)
	case *parser.SubqueryExpr:
		p.plan.Root, _, err = p.subqueryWindows(e, p.plan.Grid)
	default:
		p.plan.Root, err = p.node(expr, p.plan.Grid)
	}
	return err
}

// invariant removes parentheses, and what says that an expression does not depend on the step.
func invariant(expr parser.Expr) parser.Expr {
	for {
		e, ok := bare(expr).(*parser.StepInvariantExpr)
		if !ok {
			return bare(expr)
		}
		expr = e.Expr
	}
}

// planner makes operators of expressions.
type planner struct {
	plan     *Plan
	options  Options
	lookback time.Duration
	nodes    map[planKey]*operator.Node
	leaves   map[planKey]*leafNode
	reads    []*operator.Read
}

// planKey names an expression at the steps of a grid. Equal expressions share an operator.
type planKey struct {
	text string
	grid block.Grid
}

// keyOf also distinguishes selectors of whose histograms count and sum alone matter.
func keyOf(expr parser.Expr, g block.Grid) planKey {
	text := expr.String()
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok && vs.SkipHistogramBuckets {
			text += fmt.Sprintf("\x00statistics of %d", vs.PosRange.Start-expr.PositionRange().Start)
		}
		return nil
	})
	return planKey{text, g}
}

// expression returns the text of the expression.
func (k planKey) expression() string {
	text, _, _ := strings.Cut(k.text, "\x00")
	return text
}

// leafNode is a leaf and its node.
type leafNode struct {
	leaf *operator.Leaf
	node *operator.Node
}

// node returns the node of an expression, for one more operator above it.
func (p *planner) node(expr parser.Expr, g block.Grid) (*operator.Node, error) {
	expr = bare(expr)
	if g.Steps == 0 {
		return &operator.Node{Operator: operator.Empty{Grid: g}, Grid: g, Users: 1}, nil
	}
	key := keyOf(expr, g)
	l, err := p.leafOf(expr, key)
	if err != nil {
		return nil, err
	}
	if l != nil {
		l.leaf.Keeps = true
		l.node.Users++
		return l.node, nil
	}
	n, ok := p.nodes[key]
	if !ok {
		o, err := p.operator(expr, g)
		if err != nil {
			return nil, err
		}
		if same, ok := o.(*operator.Node); ok { // The operator adds nothing.
			return same, nil
		}
		n = &operator.Node{Operator: o, Grid: g, Text: key.expression(), Expr: expr}
		p.nodes[key] = n
	}
	n.Users++
	return n, nil
}

// input returns the input of an aggregation that takes one series after the other.
func (p *planner) input(expr parser.Expr, g block.Grid, to operator.Sink) (operator.Input, error) {
	expr = bare(expr)
	l, err := p.leafOf(expr, keyOf(expr, g))
	if err != nil {
		return operator.Input{}, err
	}
	if l != nil {
		l.leaf.Sinks = append(l.leaf.Sinks, to)
		return operator.Input{Leaf: l.leaf, Node: l.node}, nil
	}
	n, err := p.node(expr, g)
	return operator.Input{Node: n}, err
}

// bare removes parentheses.
func bare(expr parser.Expr) parser.Expr {
	for {
		paren, ok := expr.(*parser.ParenExpr)
		if !ok {
			return expr
		}
		expr = paren.Expr
	}
}

// operator returns the operator of an expression that is no leaf, or the node of an equal
// expression.
func (p *planner) operator(expr parser.Expr, g block.Grid) (operator.Operator, error) {
	switch e := expr.(type) {
	case *parser.NumberLiteral:
		return instantfn.Number{Grid: g, Value: e.Val}, nil
	case *parser.StepInvariantExpr:
		if n, ok := bare(e.Expr).(*parser.NumberLiteral); ok {
			return instantfn.Number{Grid: g, Value: n.Val}, nil
		}
		n, err := p.node(e.Expr, g.Single())
		if g.Steps == 1 {
			return n, err
		}
		return operator.Repeat{Grid: g, Input: n}, err
	case *parser.UnaryExpr:
		if e.Op != parser.SUB {
			return p.node(e.Expr, g)
		}
		n, err := p.node(e.Expr, g)
		return instantfn.Mapped{Mapping: instantfn.Negate(), Input: n}, err
	case *parser.BinaryExpr:
		return p.binary(e, g)
	case *parser.AggregateExpr:
		return p.aggregate(e, g)
	case *parser.Call:
		return p.call(e, g)
	}
	return nil, notPlanned("the expression %T", expr)
}

func (p *planner) binary(e *parser.BinaryExpr, g block.Grid) (operator.Operator, error) {
	leftScalar, rightScalar := e.LHS.Type() == parser.ValueTypeScalar, e.RHS.Type() == parser.ValueTypeScalar
	sides, err := p.all(parser.Expressions{e.LHS, e.RHS}, g)
	if err != nil {
		return nil, err
	}
	left, right := sides[0], sides[1]
	switch {
	case leftScalar && rightScalar:
		if f := binop.Scalar(e.Op); f != nil {
			return instantfn.Scalars{Grid: g, Of: f, Left: left, Right: right}, nil
		}
	case leftScalar:
		if m := instantfn.WithScalar(e, left, true); m != nil {
			return instantfn.Mapped{Mapping: m, Input: right}, nil
		}
	case rightScalar:
		if m := instantfn.WithScalar(e, right, false); m != nil {
			return instantfn.Mapped{Mapping: m, Input: left}, nil
		}
	case e.Op.IsSetOperator():
		return join.Sets{Grid: g, Op: e.Op, Matching: e.VectorMatching, Left: left, Right: right}, nil
	case binop.Scalar(e.Op) != nil, e.Op == parser.TRIM_LOWER, e.Op == parser.TRIM_UPPER:
		return join.Vectors{Grid: g, Op: e.Op, AsBool: e.ReturnBool, Matching: e.VectorMatching, Elements: binop.HistogramOp{Op: e.Op, Position: e.PositionRange(), Notes: &annotation.Notes{}}, Left: left, Right: right}, nil
	}
	return nil, notPlanned("the operator %s", e.Op)
}

func (p *planner) aggregate(e *parser.AggregateExpr, g block.Grid) (operator.Operator, error) {
	var argument *operator.Node
	var err error
	if e.Param != nil && e.Op != parser.COUNT_VALUES {
		if argument, err = p.node(e.Param, g); err != nil {
			return nil, err
		}
	}
	switch e.Op {
	case parser.QUANTILE:
		n, err := p.node(e.Expr, g)
		return &aggregate.Quantiles{Input: n, Grid: g, Argument: argument, Position: e.Param.PositionRange(), Vector: e.Expr.PositionRange(), Grouping: aggregate.NewGrouping(e)}, err
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		r := &aggregate.Ranking{Grid: g, Op: e.Op, Argument: argument, Position: e.Param.PositionRange(), Whole: e.PosRange, Grouping: aggregate.NewGrouping(e)}
		r.Input, err = p.orderedInput(e.Expr, g, argument, r)
		return r, err
	case parser.COUNT_VALUES:
		return p.countValues(e, g)
	}
	if !aggregate.Accumulates(e.Op) {
		return nil, notPlanned("the aggregation %s", e.Op)
	}
	a := &aggregate.Aggregation{Grid: g, Op: e.Op, Position: e.Expr.PositionRange(), Grouping: aggregate.NewGrouping(e)}
	a.Input, err = p.input(e.Expr, g, a)
	return a, err
}
