package rangeql

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// A plan is the operators of a query.
type plan struct {
	grid    block.Grid
	instant bool // one instant was asked for
	kind    parser.ValueType

	expr    parser.Expr
	planner *planner
	reads   []*read
	// One of these gives the answer.
	root    *node
	text    *parser.StringLiteral
	samples *samplesAnswer
}

// notPlanned is the reason why a query is left to the library from the start.
func notPlanned(format string, a ...any) error {
	return columns.FallbackReason(fmt.Sprintf(format, a...))
}

// newPlan makes a plan of a statement that the library has prepared.
func newPlan(s *parser.EvalStmt, o Options) (*plan, error) {
	p := &planner{
		plan:     &plan{kind: s.Expr.Type(), expr: s.Expr},
		options:  o,
		lookback: s.LookbackDelta,
		nodes:    map[planKey]*node{},
		leaves:   map[planKey]*leafNode{},
	}
	p.plan.planner = p
	start, end, interval := timestamp.FromTime(s.Start), timestamp.FromTime(s.End), s.Interval.Milliseconds()
	switch {
	case s.Start.Equal(s.End) && s.Interval == 0:
		p.plan.instant, p.plan.grid = true, block.Grid{Start: start, Interval: 1, Steps: 1, Until: start}
	case interval <= 0 || end < start:
		return nil, notPlanned("a range without steps")
	default:
		p.plan.grid = block.NewGrid(start, end, interval)
	}
	if s.LookbackDelta <= 0 || s.LookbackDelta%time.Millisecond != 0 {
		return nil, notPlanned("a lookback of no whole milliseconds")
	}
	err := p.whole(s.Expr)
	p.plan.reads = p.reads
	for _, r := range p.reads {
		r.selector.Newest = r.needsNewest()
		if lookback := s.LookbackDelta.Milliseconds(); r.instants(lookback) {
			r.selector.Lookback = lookback
		}
		r.selector.Every, r.selector.Summaries = r.every()
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
		p.plan.samples, err = p.newSamplesAnswer(e, p.plan.grid)
	case *parser.SubqueryExpr:
		p.plan.root, _, err = p.subqueryWindows(e, p.plan.grid)
	default:
		p.plan.root, err = p.node(expr, p.plan.grid)
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
	plan     *plan
	options  Options
	lookback time.Duration
	nodes    map[planKey]*node
	leaves   map[planKey]*leafNode
	reads    []*read
}

// planKey names an expression at the steps of a grid. Equal expressions share an operator.
type planKey struct {
	text string
	grid block.Grid
}

// keyOf also tells selectors apart of whose histograms count and sum alone matter.
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
	leaf *leaf
	node *node
}

// node returns the node of an expression, for one more operator above it.
func (p *planner) node(expr parser.Expr, g block.Grid) (*node, error) {
	expr = bare(expr)
	if g.Steps == 0 {
		return &node{operator: empty{g}, grid: g, users: 1}, nil
	}
	key := keyOf(expr, g)
	l, err := p.leafOf(expr, key)
	if err != nil {
		return nil, err
	}
	if l != nil {
		l.leaf.keeps = true
		l.node.users++
		return l.node, nil
	}
	n, ok := p.nodes[key]
	if !ok {
		o, err := p.operator(expr, g)
		if err != nil {
			return nil, err
		}
		if same, ok := o.(*node); ok { // The operator adds nothing.
			return same, nil
		}
		n = &node{operator: o, grid: g, text: key.expression(), expr: expr}
		p.nodes[key] = n
	}
	n.users++
	return n, nil
}

// input returns the input of an aggregation that takes one series after the other.
func (p *planner) input(expr parser.Expr, g block.Grid, to sink) (input, error) {
	expr = bare(expr)
	l, err := p.leaf(expr, g)
	if err != nil {
		return input{}, err
	}
	if l != nil {
		l.leaf.sinks = append(l.leaf.sinks, to)
		return input{leaf: l.leaf, node: l.node}, nil
	}
	n, err := p.node(expr, g)
	return input{node: n}, err
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
func (p *planner) operator(expr parser.Expr, g block.Grid) (operator, error) {
	switch e := expr.(type) {
	case *parser.NumberLiteral:
		return number{g, e.Val}, nil
	case *parser.StepInvariantExpr:
		if n, ok := bare(e.Expr).(*parser.NumberLiteral); ok {
			return number{g, n.Val}, nil
		}
		n, err := p.node(e.Expr, g.Single())
		if g.Steps == 1 {
			return n, err
		}
		return repeat{g, n}, err
	case *parser.UnaryExpr:
		if e.Op != parser.SUB {
			return p.node(e.Expr, g)
		}
		n, err := p.node(e.Expr, g)
		return mapped{negate(), n}, err
	case *parser.BinaryExpr:
		return p.binary(e, g)
	case *parser.AggregateExpr:
		return p.aggregate(e, g)
	case *parser.Call:
		return p.call(e, g)
	}
	return nil, notPlanned("the expression %T", expr)
}

func (p *planner) binary(e *parser.BinaryExpr, g block.Grid) (operator, error) {
	leftScalar, rightScalar := e.LHS.Type() == parser.ValueTypeScalar, e.RHS.Type() == parser.ValueTypeScalar
	left, err := p.node(e.LHS, g)
	if err != nil {
		return nil, err
	}
	right, err := p.node(e.RHS, g)
	if err != nil {
		return nil, err
	}
	switch {
	case leftScalar && rightScalar:
		if f := scalarOperation(e.Op); f != nil {
			return scalars{g, f, left, right}, nil
		}
	case leftScalar:
		if m := withScalar(e, left, true); m != nil {
			return mapped{m, right}, nil
		}
	case rightScalar:
		if m := withScalar(e, right, false); m != nil {
			return mapped{m, left}, nil
		}
	case e.Op.IsSetOperator():
		return sets{g, e.Op, e.VectorMatching, left, right}, nil
	case scalarOperation(e.Op) != nil, e.Op == parser.TRIM_LOWER, e.Op == parser.TRIM_UPPER:
		return vectors{g, e.Op, e.ReturnBool, e.VectorMatching, elementwise{e.Op, e.PositionRange(), &annotation.Notes{}}, left, right}, nil
	}
	return nil, notPlanned("the operator %s", e.Op)
}

func (p *planner) aggregate(e *parser.AggregateExpr, g block.Grid) (operator, error) {
	var argument *node
	var err error
	if e.Param != nil && e.Op != parser.COUNT_VALUES {
		if argument, err = p.node(e.Param, g); err != nil {
			return nil, err
		}
	}
	switch e.Op {
	case parser.QUANTILE:
		n, err := p.node(e.Expr, g)
		return &quantiles{input: n, grid: g, argument: argument, position: e.Param.PositionRange(), vector: e.Expr.PositionRange(), grouping: newGrouping(e)}, err
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		r := &ranking{grid: g, op: e.Op, argument: argument, position: e.Param.PositionRange(), whole: e.PosRange, grouping: newGrouping(e)}
		r.input, err = p.orderedInput(e.Expr, g, argument, r)
		return r, err
	case parser.COUNT_VALUES:
		return p.countValues(e, g)
	}
	if !accumulates(e.Op) {
		return nil, notPlanned("the aggregation %s", e.Op)
	}
	a := &aggregate{grid: g, op: e.Op, position: e.Expr.PositionRange(), grouping: newGrouping(e)}
	a.input, err = p.input(e.Expr, g, a)
	return a, err
}

// constant reports whether a node reads nothing.
func constant(n *node) bool {
	switch o := n.operator.(type) {
	case number, clock:
		return true
	case scalars:
		return constant(o.left) && constant(o.right)
	}
	return false
}
