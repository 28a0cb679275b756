package resultcache

import (
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
)

// A shape is which points a step of a query depends on.
type shape struct {
	// A step at t depends on points from t-oldest to t-newest, in milliseconds, both included.
	// newest is negative for a query that reads beyond its steps.
	oldest, newest int64
	// metrics are the values of __name__ that the query reads; nil: any.
	metrics []string
}

// shapeOf returns the shape of an expression, and false if its steps do not stand alone:
//
//   - the answer depends on the range (start(), end(), range(), @) or on more than its selectors
//     find (info), or trees decide which series these are,
//   - a function of a range may give several series equal labels, because it drops their names. The
//     engine refuses that even if they have no step in common.
//
// The expression of an answer that is kept must be as it was parsed: the engine replaces start() and
// its like by numbers. They do not matter to the reach of one evaluation.
func shapeOf(e parser.Expr, lookback, defaultStep int64) (shape, bool) {
	w := shaper{lookback: lookback, defaultStep: defaultStep, shape: shape{newest: math.MaxInt64, metrics: []string{}}}
	if _, ok := w.expr(e, reach{}); !ok {
		return shape{}, false
	}
	if w.shape.newest == math.MaxInt64 { // without selectors
		w.shape.newest = 0
	}
	if w.any {
		w.shape.metrics = nil
	}
	return w.shape, true
}

// wants reports whether the query reads a metric. One without a name may have any in its tags.
func (s shape) wants(name string) bool {
	return s.metrics == nil || name == "" || slices.Contains(s.metrics, name)
}

// A reach is how far before a step a subexpression is evaluated, in milliseconds.
type reach struct{ oldest, newest int64 }

// shaper walks through an expression.
type shaper struct {
	lookback, defaultStep int64
	shape                 shape
	any                   bool // some selector reads metrics of any name
}

// names is what is known of __name__ in the series of a subexpression.
type names int

const (
	oneName names = iota // all have the same, or none
	manyNames
)

// expr notes what a subexpression depends on.
func (w *shaper) expr(e parser.Expr, at reach) (names, bool) {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return w.expr(e.Expr, at)
	case *parser.StepInvariantExpr: // made by the engine, of numbers
		return w.expr(e.Expr, at)
	case *parser.VectorSelector:
		return w.selector(e, at, 0)
	case *parser.MatrixSelector:
		s, ok := e.VectorSelector.(*parser.VectorSelector)
		if !ok || e.RangeExpr != nil {
			return 0, false
		}
		return w.selector(s, at, e.Range.Milliseconds())
	case *parser.SubqueryExpr:
		return w.subquery(e, at)
	case *parser.UnaryExpr:
		return w.expr(e.Expr, at)
	case *parser.Call:
		return w.call(e, at)
	case *parser.AggregateExpr:
		return w.aggregate(e, at)
	case *parser.BinaryExpr:
		return w.binary(e, at)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return oneName, true
	default:
		return 0, false
	}
}

// selector notes what a selector reads for a window of so many milliseconds; 0: for an instant.
func (w *shaper) selector(s *parser.VectorSelector, at reach, window int64) (names, bool) {
	if s.Timestamp != nil || s.StartOrEnd != 0 || s.OriginalOffsetExpr != nil || pathlabel.Has(s.LabelMatchers) {
		return 0, false
	}
	offset := s.OriginalOffset.Milliseconds()
	oldest, newest := at.oldest+offset+window, at.newest+offset
	if window == 0 || s.Anchored || s.Smoothed {
		oldest += w.lookback
	}
	if s.Smoothed {
		newest -= w.lookback
	}
	w.shape.oldest, w.shape.newest = max(w.shape.oldest, oldest), min(w.shape.newest, newest)
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual && m.Value != "" {
			w.shape.metrics = append(w.shape.metrics, m.Value)
			return oneName, true
		}
	}
	w.any = true
	return manyNames, true
}

func (w *shaper) subquery(e *parser.SubqueryExpr, at reach) (names, bool) {
	if e.Timestamp != nil || e.StartOrEnd != 0 || e.OriginalOffsetExpr != nil || e.RangeExpr != nil || e.StepExpr != nil {
		return 0, false
	}
	offset, step := e.OriginalOffset.Milliseconds(), e.Step.Milliseconds()
	if step == 0 {
		step = w.defaultStep
	}
	return w.expr(e.Expr, reach{at.oldest + offset + e.Range.Milliseconds() + step, at.newest + offset})
}

func (w *shaper) call(e *parser.Call, at reach) (names, bool) {
	all, ranges := oneName, false
	for _, a := range e.Args {
		n, ok := w.expr(a, at)
		if !ok {
			return 0, false
		}
		all = max(all, n)
		ranges = ranges || a.Type() == parser.ValueTypeMatrix
	}
	switch e.Func.Name {
	case "start", "end", "range", "step", "info":
		return 0, false
	case "label_replace", "label_join":
		return manyNames, true // it may set the name
	case "last_over_time", "first_over_time", "sort", "sort_desc", "sort_by_label", "sort_by_label_desc":
		return all, true
	}
	return oneName, !ranges || all == oneName
}

func (w *shaper) aggregate(e *parser.AggregateExpr, at reach) (names, bool) {
	if e.Param != nil {
		if _, ok := w.expr(e.Param, at); !ok {
			return 0, false
		}
	}
	n, ok := w.expr(e.Expr, at)
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return n, ok
	}
	if !e.Without && slices.Contains(e.Grouping, model.MetricNameLabel) {
		return n, ok
	}
	return oneName, ok
}

func (w *shaper) binary(e *parser.BinaryExpr, at reach) (names, bool) {
	left, ok := w.expr(e.LHS, at)
	if !ok {
		return 0, false
	}
	right, ok := w.expr(e.RHS, at)
	if !ok {
		return 0, false
	}
	switch {
	case e.Op == parser.LOR:
		return manyNames, true
	case e.VectorMatching != nil && slices.Contains(e.VectorMatching.Include, model.MetricNameLabel):
		return max(left, right), true
	case e.Op.IsSetOperator(), e.Op.IsComparisonOperator() && !e.ReturnBool:
		return max(left, right), true // of the vector, whichever side it is on
	default:
		return oneName, true
	}
}
