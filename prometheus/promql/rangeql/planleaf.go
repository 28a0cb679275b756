package rangeql

import (
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// leaf returns the leaf of an expression, nil if the expression is none.
func (p *planner) leaf(expr parser.Expr, g block.Grid) (*leafNode, error) {
	return p.leafOf(expr, keyOf(expr, g))
}

// leafOf is leaf with the key of the expression, which costs more than the rest.
func (p *planner) leafOf(expr parser.Expr, key planKey) (*leafNode, error) {
	if l, ok := p.leaves[key]; ok {
		return l, nil
	}
	l, err := p.newLeaf(expr, key.grid)
	if l == nil || err != nil {
		return nil, err
	}
	p.leaves[key] = &leafNode{leaf: l, node: &node{operator: l, grid: key.grid, text: key.expression(), expr: expr}}
	return p.leaves[key], nil
}

// newLeaf accepts a selector, a function of the range of one, and mappings of those.
func (p *planner) newLeaf(expr parser.Expr, g block.Grid) (*leaf, error) {
	switch e := bare(expr).(type) {
	case *parser.VectorSelector:
		return p.selector(e, g)
	case *parser.UnaryExpr:
		if e.Op == parser.SUB && e.Expr.Type() == parser.ValueTypeVector {
			return p.mappedLeaf(e.Expr, g, negate())
		}
	case *parser.BinaryExpr:
		return p.leafWithNumber(e, g)
	case *parser.Call:
		return p.callOfLeaf(e, g)
	}
	return nil, nil
}

// mappedLeaf adds a mapping to the leaf of an expression.
func (p *planner) mappedLeaf(expr parser.Expr, g block.Grid, m *mapping) (*leaf, error) {
	if m == nil {
		return nil, nil
	}
	l, err := p.newLeaf(expr, g)
	if l != nil {
		l.mappings = append(l.mappings, m)
	}
	return l, err
}

func (p *planner) leafWithNumber(e *parser.BinaryExpr, g block.Grid) (*leaf, error) {
	vector, scalar, scalarLeft := e.LHS, e.RHS, false
	if e.LHS.Type() == parser.ValueTypeScalar {
		vector, scalar, scalarLeft = e.RHS, e.LHS, true
	}
	value, ok := literal(scalar)
	if !ok || vector.Type() != parser.ValueTypeVector {
		return nil, nil
	}
	n := &node{operator: number{g, value}, grid: g, users: 1}
	return p.mappedLeaf(vector, g, withScalar(e, n, scalarLeft))
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

func (p *planner) callOfLeaf(e *parser.Call, g block.Grid) (*leaf, error) {
	if len(e.Args) == 0 {
		return nil, nil
	}
	if e.Func.Name == "timestamp" {
		return p.timestampOfLeaf(e, g)
	}
	if m := mappingOf(e.Func.Name); m != nil && len(e.Args) == 1 {
		return p.mappedLeaf(e.Args[0], g, m)
	}
	f := functionOf(e.Func.Name)
	if f == nil || len(e.Args) != f.args+1 || refusedRange(e) != nil {
		return nil, nil
	}
	m, ok := e.Args[f.matrix].(*parser.MatrixSelector)
	if !ok {
		return nil, nil
	}
	vs := m.VectorSelector.(*parser.VectorSelector)
	w, err := p.windows(vs, g, m.Range)
	if err != nil {
		return nil, err
	}
	p.widen(&w, vs)
	if w.fixed = vs.Timestamp != nil && g.Steps > 1; w.fixed && f.edges {
		return nil, notPlanned("%s of a fixed range at moving steps", e.Func.Name)
	}
	w.summary = summaryFunction(e.Func.Name, p.options.InexactSums)
	w.function, w.seconds, w.argument = f, m.Range.Seconds(), e.Args[0].PositionRange()
	selector, ranged := *vs, *m
	ranged.VectorSelector = &selector
	w.inLibrary(e, f, &ranged, &selector)
	args, shared, err := p.scalars(e, f, g)
	if err != nil {
		return nil, err
	}
	return p.read(&leaf{windows: w, args: args}, vs, shared)
}

// widen lets a function see samples around its range, for an anchored or smoothed selector.
func (p *planner) widen(w *windows, vs *parser.VectorSelector) {
	switch {
	case vs.Anchored:
		w.earlier = p.lookback.Milliseconds()
	case vs.Smoothed:
		w.earlier, w.later = p.lookback.Milliseconds(), p.lookback.Milliseconds()
	}
}

// scalars returns the arguments of a function beside its range, and whether they read nothing.
func (p *planner) scalars(e *parser.Call, f *function, g block.Grid) (args []*node, readNothing bool, err error) {
	readNothing = true
	for i, a := range e.Args {
		if i == f.matrix {
			continue
		}
		n, err := p.node(a, g)
		if err != nil {
			return nil, false, err
		}
		readNothing = readNothing && constant(n)
		args = append(args, n)
	}
	return args, readNothing, nil
}

func (p *planner) timestampOfLeaf(e *parser.Call, g block.Grid) (*leaf, error) {
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
		l.stamps = true
	}
	return l, err
}

func (p *planner) selector(vs *parser.VectorSelector, g block.Grid) (*leaf, error) {
	w, err := p.windows(vs, g, p.lookback)
	if err != nil {
		return nil, err
	}
	if vs.Smoothed {
		w.smooth, w.later, w.argument = true, w.length, vs.PositionRange()
	}
	return p.read(&leaf{windows: w}, vs, true)
}

func (p *planner) windows(vs *parser.VectorSelector, g block.Grid, length time.Duration) (windows, error) {
	switch {
	case length <= 0, length%time.Millisecond != 0, vs.OriginalOffset%time.Millisecond != 0:
		return windows{}, notPlanned("ranges and offsets of no whole milliseconds")
	}
	return windows{
		grid: g, length: length.Milliseconds(), offset: offsetAt(vs.OriginalOffset, vs.Timestamp, g),
		statistics: vs.SkipHistogramBuckets, notes: &annotation.Notes{},
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
func (p *planner) read(l *leaf, vs *parser.VectorSelector, shared bool) (*leaf, error) {
	first, _ := l.window(0)
	_, last := l.window(l.grid.Steps - 1)
	s := columns.Selector{Matchers: vs.LabelMatchers, Start: first + 1 - l.earlier, End: last + l.later, NoStartTimes: p.options.StartTimes}
	if shared {
		for _, r := range p.reads {
			if r.shared && joins(r.selector, s) {
				r.selector.Start, r.selector.End = min(r.selector.Start, s.Start), max(r.selector.End, s.End)
				l.read = r
				r.leaves = append(r.leaves, l)
				return l, nil
			}
		}
	}
	l.read = &read{selector: s, leaves: []*leaf{l}, shared: shared}
	p.reads = append(p.reads, l.read)
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
func (p *planner) subquery(e *parser.Call, f *function, sq *parser.SubqueryExpr, g block.Grid) (operator, error) {
	n, w, err := p.subqueryWindows(sq, g)
	if err != nil {
		return nil, err
	}
	if w.fixed && f.edges {
		return nil, notPlanned("%s of a fixed range at moving steps", e.Func.Name)
	}
	w.function = f
	selector := parser.VectorSelector{OriginalOffset: sq.OriginalOffset, Timestamp: sq.Timestamp}
	w.inLibrary(e, f, &parser.MatrixSelector{VectorSelector: &selector, Range: sq.Range}, &selector)
	if f.matrix > 0 { // The library loses the position of a subquery.
		w.argument = e.Args[0].PositionRange()
	}
	args, _, err := p.scalars(e, f, g)
	return &subquery{windows: w, args: args, input: n}, err
}

// subqueryWindows returns the expression of a subquery at the steps of the subquery, and which of
// these count at the steps of the query.
func (p *planner) subqueryWindows(sq *parser.SubqueryExpr, g block.Grid) (*node, windows, error) {
	inner, offset, err := p.subqueryGrid(sq, g)
	if err != nil {
		return nil, windows{}, err
	}
	w := windows{
		grid: g, length: sq.Range.Milliseconds(), offset: offset, seconds: sq.Range.Seconds(),
		fixed: sq.Timestamp != nil && g.Steps > 1, notes: &annotation.Notes{},
	}
	n, err := p.node(sq.Expr, inner)
	return n, w, err
}

// subqueryGrid returns the steps of a subquery, and how far before the steps of the query the last of them
// is, in milliseconds.
func (p *planner) subqueryGrid(sq *parser.SubqueryExpr, g block.Grid) (inner block.Grid, offset int64, err error) {
	if sq.Range <= 0 || sq.Range%time.Millisecond != 0 || sq.OriginalOffset%time.Millisecond != 0 || sq.Step%time.Millisecond != 0 {
		return block.Grid{}, 0, notPlanned("subqueries of no whole milliseconds")
	}
	offset = offsetAt(sq.OriginalOffset, sq.Timestamp, g)
	interval := sq.Step.Milliseconds()
	if interval == 0 {
		if interval = p.options.DefaultStep.Milliseconds(); interval == 0 {
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
