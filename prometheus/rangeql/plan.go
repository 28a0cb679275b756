package rangeql

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// A plan is a query of a known shape: one selector, perhaps a function of its range, perhaps an
// aggregation of that, perhaps operations with numbers. Times and spans are milliseconds.
type plan struct {
	instant  bool  // the answer is a vector
	start    int64 // of the first step
	interval int64 // between steps
	steps    int   // evaluated
	// steps in the answer: the one step of a query that does not depend on time is repeated
	repeat  int
	delayed bool // names of metrics are dropped in the end

	selector Selector
	offset   int64
	// window is how far back a sample counts: the range of a function, else the lookback.
	window int64

	function *function // nil: the samples themselves
	seconds  float64   // of the range of the function
	argument posrange.PositionRange

	aggregate *aggregate // nil: none
	numbers   []operation
}

// aggregate is an aggregation by labels.
type aggregate struct {
	op       parser.ItemType
	grouping []string // sorted
	without  bool
}

// newPlan makes a plan of a statement that the library has prepared. It reports false for other
// shapes.
func newPlan(s *parser.EvalStmt, o Options) (*plan, bool) {
	p := &plan{delayed: o.DelayedNames, start: timestamp.FromTime(s.Start), interval: s.Interval.Milliseconds(), steps: 1, repeat: 1}
	switch {
	case s.Start.Equal(s.End) && s.Interval == 0:
		p.instant, p.interval = true, 1
	case p.interval <= 0 || s.End.Before(s.Start):
		return nil, false
	default:
		p.steps = int((timestamp.FromTime(s.End)-p.start)/p.interval) + 1
	}
	expr := s.Expr
	if invariant, ok := expr.(*parser.StepInvariantExpr); ok {
		expr = invariant.Expr
		p.repeat, p.steps = p.steps, 1
	} else {
		p.repeat = p.steps
	}
	if expr.Type() != parser.ValueTypeVector || !p.top(expr, s) {
		return nil, false
	}
	p.selector.NoStartTimes = o.StartTimes
	return p, true
}

// top collects operations with numbers. The innermost one is the last in the text and the first in
// the plan.
func (p *plan) top(expr parser.Expr, s *parser.EvalStmt) bool {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return p.top(e.Expr, s)
	case *parser.BinaryExpr:
		op, vector, ok := newOperation(e)
		if !ok || !p.top(vector, s) {
			return false
		}
		p.numbers = append(p.numbers, op)
		return true
	case *parser.AggregateExpr:
		if !aggregates(e.Op) || e.Param != nil {
			return false
		}
		p.aggregate = &aggregate{op: e.Op, grouping: slices.Clone(e.Grouping), without: e.Without}
		slices.Sort(p.aggregate.grouping)
		return p.leaf(e.Expr, s)
	}
	return p.leaf(expr, s)
}

// leaf accepts a selector, or a function of one.
func (p *plan) leaf(expr parser.Expr, s *parser.EvalStmt) bool {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return p.leaf(e.Expr, s)
	case *parser.VectorSelector:
		return p.selects(e, s, s.LookbackDelta)
	case *parser.Call:
		f := functionOf(e.Func.Name)
		if f == nil || len(e.Args) != 1 {
			return false
		}
		m, ok := e.Args[0].(*parser.MatrixSelector)
		if !ok || m.Range%time.Millisecond != 0 {
			return false
		}
		p.function, p.argument, p.seconds = f, m.PositionRange(), m.Range.Seconds()
		return p.selects(m.VectorSelector.(*parser.VectorSelector), s, m.Range)
	}
	return false
}

func (p *plan) selects(v *parser.VectorSelector, s *parser.EvalStmt, window time.Duration) bool {
	p.window = window.Milliseconds()
	if v.Anchored || v.Smoothed || p.window <= 0 || v.OriginalOffset%time.Millisecond != 0 {
		return false
	}
	p.offset = v.OriginalOffset.Milliseconds()
	start, end := p.start, timestamp.FromTime(s.End)
	if v.Timestamp != nil {
		start, end = *v.Timestamp, *v.Timestamp
		if p.steps > 1 {
			return false // The library wraps what does not depend on the step.
		}
		p.offset += p.start - *v.Timestamp
	}
	shift := v.OriginalOffset.Milliseconds()
	// The window is open on the left.
	p.selector = Selector{Matchers: v.LabelMatchers, Start: start - shift - p.window + 1, End: end - shift}
	return true
}

// time returns the time of a step.
func (p *plan) time(step int) int64 { return p.start + int64(step)*p.interval }

// metric returns the labels of a series after the function.
func (p *plan) metric(ls labels.Labels) labels.Labels {
	if p.dropsName() && !p.delayed {
		return ls.DropReserved(isMetadata)
	}
	return ls
}

// dropsName reports whether the function removes the name of the metric. last_over_time and
// first_over_time return samples unchanged.
func (p *plan) dropsName() bool { return p.function != nil && !p.function.keepsName }

// value converts the matrix into what the library's caller gets.
func (p *plan) value(m promql.Matrix) parser.Value {
	if !p.instant {
		slices.SortFunc(m, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
		return m
	}
	v := make(promql.Vector, len(m))
	for i, s := range m {
		v[i] = promql.Sample{Metric: s.Metric, F: s.Floats[0].F, T: p.start, DropName: s.DropName}
	}
	return v
}
