package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/instantfn"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// leafOf returns the leaf of an expression, nil if the expression is none. Its key costs more than the rest.
func (p *planner) leafOf(expr parser.Expr, key planKey) (*leafNode, error) {
	if l, ok := p.leaves[key]; ok {
		return l, nil
	}
	l, err := p.newLeaf(expr, key.grid)
	if l == nil || err != nil {
		return nil, err
	}
	p.leaves[key] = &leafNode{leaf: l, node: &operator.Node{Operator: l, Grid: key.grid, Text: key.expression(), Expr: expr}}
	return p.leaves[key], nil
}

// newLeaf accepts a selector, a function of the range of one, and mappings of those.
func (p *planner) newLeaf(expr parser.Expr, g block.Grid) (*operator.Leaf, error) {
	switch e := bare(expr).(type) {
	case *parser.VectorSelector:
		return p.selector(e, g)
	case *parser.UnaryExpr:
		if e.Op == parser.SUB && e.Expr.Type() == parser.ValueTypeVector {
			return p.mappedLeaf(e.Expr, g, instantfn.Negate())
		}
	case *parser.BinaryExpr:
		return p.leafWithNumber(e, g)
	case *parser.Call:
		return p.callOfLeaf(e, g)
	}
	return nil, nil
}

// mappedLeaf adds a mapping to the leaf of an expression.
func (p *planner) mappedLeaf(expr parser.Expr, g block.Grid, m *operator.Mapping) (*operator.Leaf, error) {
	if m == nil {
		return nil, nil
	}
	l, err := p.newLeaf(expr, g)
	if l != nil {
		l.Mappings = append(l.Mappings, m)
	}
	return l, err
}

func (p *planner) leafWithNumber(e *parser.BinaryExpr, g block.Grid) (*operator.Leaf, error) {
	vector, scalar, scalarLeft := e.LHS, e.RHS, false
	if e.LHS.Type() == parser.ValueTypeScalar {
		vector, scalar, scalarLeft = e.RHS, e.LHS, true
	}
	value, ok := literal(scalar)
	if !ok || vector.Type() != parser.ValueTypeVector {
		return nil, nil
	}
	n := &operator.Node{Operator: instantfn.Number{Grid: g, Value: value}, Grid: g, Users: 1}
	return p.mappedLeaf(vector, g, instantfn.WithScalar(e, n, scalarLeft))
}

// literal returns the value of a number that is written out.
func literal(expr parser.Expr) (float64, bool) {
	switch e := bare(expr).(type) {
	case *parser.StepInvariantExpr:
		return literal(e.Expr)
	case *parser.NumberLiteral:
		return e.Val, true
	}
	return 0, false
}

func (p *planner) callOfLeaf(e *parser.Call, g block.Grid) (*operator.Leaf, error) {
	if len(e.Args) == 0 {
		return nil, nil
	}
	if e.Func.Name == "timestamp" {
		return p.timestampOfLeaf(e, g)
	}
	if m := instantfn.Of(e.Func.Name); m != nil && len(e.Args) == 1 {
		return p.mappedLeaf(e.Args[0], g, m)
	}
	f := rangefn.Of(e.Func.Name)
	if f == nil || len(e.Args) != f.Args+1 || refusedRange(e) != nil {
		return nil, nil
	}
	m, ok := e.Args[f.Matrix].(*parser.MatrixSelector)
	if !ok {
		return nil, nil
	}
	vs := m.VectorSelector.(*parser.VectorSelector)
	w, err := windowsOf(vs, g, m.Range)
	if err != nil {
		return nil, err
	}
	widen(&w, vs, p.lookback)
	if w.Fixed = vs.Timestamp != nil && g.Steps > 1; w.Fixed && f.Edges {
		return nil, notPlanned("%s of a fixed range at moving steps", e.Func.Name)
	}
	w.Summary = rangefn.SummaryFunction(e.Func.Name, p.options.InexactSums)
	w.Function, w.Seconds, w.Argument = f, m.Range.Seconds(), e.Args[0].PositionRange()
	selector, ranged := *vs, *m
	ranged.VectorSelector = &selector
	w.InLibrary(e, f, &ranged, &selector)
	args, shared, err := p.scalars(e, f, g)
	if err != nil {
		return nil, err
	}
	return p.read(&operator.Leaf{Windows: w, Args: args}, vs, shared)
}

// widen lets a function see samples around its range, for an anchored or smoothed selector.
func widen(w *rangefn.Windows, vs *parser.VectorSelector, lookback time.Duration) {
	switch {
	case vs.Anchored:
		w.Earlier = lookback.Milliseconds()
	case vs.Smoothed:
		w.Earlier, w.Later = lookback.Milliseconds(), lookback.Milliseconds()
	}
}

// scalars returns the arguments of a function in addition to its range, and whether they read nothing.
func (p *planner) scalars(e *parser.Call, f *rangefn.Function, g block.Grid) (args []*operator.Node, readNothing bool, err error) {
	args, err = p.all(slices.Delete(slices.Clone(e.Args), f.Matrix, f.Matrix+1), g)
	return args, instantfn.Constant(args...), err
}

func (p *planner) timestampOfLeaf(e *parser.Call, g block.Grid) (*operator.Leaf, error) {
	vs, ok := e.Args[0].(*parser.VectorSelector)
	if !ok {
		return nil, nil
	}
	if vs.Timestamp != nil && vs.OriginalOffset != 0 {
		return nil, notPlanned("timestamp of a selector with @ and offset")
	}
	plain := *vs
	plain.Smoothed = false // It makes no difference to the library either.
	l, err := p.selector(&plain, g)
	if l != nil {
		l.Stamps = true
	}
	return l, err
}

func (p *planner) selector(vs *parser.VectorSelector, g block.Grid) (*operator.Leaf, error) {
	w, err := windowsOf(vs, g, p.lookback)
	if err != nil {
		return nil, err
	}
	if vs.Smoothed {
		w.Smooth, w.Later, w.Argument = true, w.Length, vs.PositionRange()
	}
	return p.read(&operator.Leaf{Windows: w}, vs, true)
}

// windowsOf returns which samples of a selector count at which step.
func windowsOf(vs *parser.VectorSelector, g block.Grid, length time.Duration) (rangefn.Windows, error) {
	switch {
	case length <= 0, length%time.Millisecond != 0, vs.OriginalOffset%time.Millisecond != 0:
		return rangefn.Windows{}, notPlanned("ranges and offsets of no whole milliseconds")
	}
	return rangefn.Windows{
		Grid: g, Length: length.Milliseconds(), Offset: offsetAt(vs.OriginalOffset, vs.Timestamp, g),
		Statistics: vs.SkipHistogramBuckets, Notes: &annotation.Notes{},
	}, nil
}

// offsetAt returns the distance from the first step to the time that a selector or a subquery
// names, in milliseconds.
func offsetAt(offset time.Duration, at *int64, g block.Grid) int64 {
	if at == nil {
		return offset.Milliseconds()
	}
	return offset.Milliseconds() + g.Start - *at
}

// read gives a leaf its read. A leaf whose arguments read something reads alone, because its
// arguments come first.
func (p *planner) read(l *operator.Leaf, vs *parser.VectorSelector, shared bool) (*operator.Leaf, error) {
	first, _ := l.Window(0)
	_, last := l.Window(l.Grid.Steps - 1)
	s := columns.Selector{Matchers: vs.LabelMatchers, Start: first + 1 - l.Earlier, End: last + l.Later, NoStartTimes: p.options.StartTimes}
	if shared {
		for _, r := range p.reads {
			if r.Shared && joins(r.Selector, s) {
				r.Selector.Start, r.Selector.End = min(r.Selector.Start, s.Start), max(r.Selector.End, s.End)
				l.Read = r
				r.Leaves = append(r.Leaves, l)
				return l, nil
			}
		}
	}
	l.Read = &operator.Read{Selector: s, Leaves: []*operator.Leaf{l}, Shared: shared}
	p.reads = append(p.reads, l.Read)
	return l, nil
}

// joins reports whether reading the series of two selectors at once reads no more than reading them
// one after the other.
func joins(s, o columns.Selector) bool {
	if max(s.End, o.End)-min(s.Start, o.Start) > (s.End-s.Start)+(o.End-o.Start) {
		return false
	}
	return matchersText(s.Matchers) == matchersText(o.Matchers)
}

func matchersText(matchers []*labels.Matcher) string {
	b := strings.Builder{}
	for _, m := range matchers {
		b.WriteString(m.String())
		b.WriteByte(0)
	}
	return b.String()
}

// subquery returns a function of a subquery.
func (p *planner) subquery(e *parser.Call, f *rangefn.Function, sq *parser.SubqueryExpr, g block.Grid) (operator.Operator, error) {
	n, w, err := p.subqueryWindows(sq, g)
	if err != nil {
		return nil, err
	}
	if w.Fixed && f.Edges {
		return nil, notPlanned("%s of a fixed range at moving steps", e.Func.Name)
	}
	w.Function = f
	selector := parser.VectorSelector{OriginalOffset: sq.OriginalOffset, Timestamp: sq.Timestamp}
	w.InLibrary(e, f, &parser.MatrixSelector{VectorSelector: &selector, Range: sq.Range}, &selector)
	if f.Matrix > 0 { // The library loses the position of a subquery.
		w.Argument = e.Args[0].PositionRange()
	}
	args, _, err := p.scalars(e, f, g)
	return &operator.Subquery{Windows: w, Args: args, Input: n}, err
}

// subqueryWindows returns the expression of a subquery at the steps of the subquery, and which of
// these count at the steps of the query.
func (p *planner) subqueryWindows(sq *parser.SubqueryExpr, g block.Grid) (*operator.Node, rangefn.Windows, error) {
	inner, offset, err := p.options.subqueryGrid(sq, g)
	if err != nil {
		return nil, rangefn.Windows{}, err
	}
	w := rangefn.Windows{
		Grid: g, Length: sq.Range.Milliseconds(), Offset: offset, Seconds: sq.Range.Seconds(),
		Fixed: sq.Timestamp != nil && g.Steps > 1, Notes: &annotation.Notes{},
	}
	n, err := p.node(sq.Expr, inner)
	return n, w, err
}

// subqueryGrid returns the steps of a subquery, and how far before the steps of the query the last of them
// is, in milliseconds.
func (o Options) subqueryGrid(sq *parser.SubqueryExpr, g block.Grid) (inner block.Grid, offset int64, err error) {
	if sq.Range <= 0 || sq.Range%time.Millisecond != 0 || sq.OriginalOffset%time.Millisecond != 0 || sq.Step%time.Millisecond != 0 {
		return block.Grid{}, 0, notPlanned("subqueries of no whole milliseconds")
	}
	offset = offsetAt(sq.OriginalOffset, sq.Timestamp, g)
	interval := sq.Step.Milliseconds()
	if interval == 0 {
		if interval = o.DefaultStep.Milliseconds(); interval == 0 {
			interval = time.Minute.Milliseconds()
		}
	}
	after := g.Start - offset - sq.Range.Milliseconds()
	start := interval * (after / interval)
	if start <= after {
		start += interval
	}
	inner = block.NewGrid(start, g.End()-offset, interval)
	if inner.Steps > 0 && start == g.Start && usesAt(sq.Expr) {
		return block.Grid{}, 0, notPlanned("@ in a subquery that begins with the query")
	}
	return inner, offset, nil
}

// usesAt reports whether an expression has a selector or subquery with @.
func usesAt(expr parser.Expr) bool {
	found := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch s := n.(type) {
		case *parser.VectorSelector:
			found = found || s.Timestamp != nil
		case *parser.SubqueryExpr:
			found = found || s.Timestamp != nil
		}
		return nil
	})
	return found
}
