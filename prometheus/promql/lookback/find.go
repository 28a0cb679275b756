package lookback

import (
	"context"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/storage"
)

// lookbacks are those of the series of a query.
type lookbacks struct {
	of   map[storage.Ref]time.Duration // of series with a rule
	most time.Duration
	any  bool // one is not the usual one
	// extended means that the query has ranges that reach beyond their ends by the lookback.
	extended bool
}

// find returns the lookbacks of the series that a query may select at an instant.
func (e *Engine) find(ctx context.Context, shown Shown, rules Rules, base time.Duration, a asked) (lookbacks, error) {
	found := lookbacks{of: map[storage.Ref]time.Duration{}, most: base}
	expr, err := e.Parser.ParseExpr(a.text)
	if err != nil {
		return found, nil //nolint:nilerr // the engine below tells
	}
	if expr, err = promql.PreprocessExpr(expr, a.start, a.end, a.step); err != nil { // computed durations
		return found, nil //nolint:nilerr // the engine below tells
	}
	start, end := reach(expr, a)
	names := map[storage.Ref]string{} // of series whose steps decide
	var selectors []*parser.VectorSelector
	selectors, found.extended = instants(expr)
	of := rules.oncePerMetric()
	for _, vs := range selectors {
		err := shown.EachRef(ctx, start, end, vs.LabelMatchers, func(ls labels.Labels, ref storage.Ref) {
			if ctx.Err() != nil { // patterns may be slow
				return
			}
			switch rule, ok := of(ls.Get(model.MetricNameLabel)); {
			case !ok:
			case rule.span > 0:
				found.of[ref] = rule.span
			default:
				names[ref] = onlyName(ls)
			}
		})
		if err != nil || ctx.Err() != nil { // the engine below tells of the context
			return lookbacks{most: base}, err
		}
	}
	if err := e.addSteps(ctx, &found, names, base, start, end); err != nil {
		return found, err
	}
	for _, l := range found.of {
		found.most = max(found.most, l)
		found.any = found.any || l != base
	}
	return found, nil
}

// addSteps adds the lookbacks of series whose steps decide.
func (e *Engine) addSteps(ctx context.Context, found *lookbacks, names map[storage.Ref]string, base time.Duration, start, end int64) error {
	if len(names) == 0 || e.Steps == nil {
		return nil
	}
	steps, err := e.Steps.Steps(ctx, names, start-Most.Milliseconds(), end) // a day's step shows in two points
	if err != nil {
		return err
	}
	for ref, step := range steps {
		found.of[ref] = ofStep(time.Duration(step)*time.Second, base)
	}
	return nil
}

// onlyName returns the name of a metric without other labels, which is a path of Graphite; "" for
// others.
func onlyName(ls labels.Labels) string {
	if ls.Len() == 1 {
		return ls.Get(model.MetricNameLabel)
	}
	return ""
}

// instants returns the selectors of an expression that want the newest sample, and not a range, and whether one is
// anchored or smoothed.
func instants(expr parser.Expr) (all []*parser.VectorSelector, extended bool) {
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		vs, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		extended = extended || vs.Anchored || vs.Smoothed
		if len(path) > 0 {
			if _, ranged := path[len(path)-1].(*parser.MatrixSelector); ranged {
				return nil
			}
		}
		all = append(all, vs)
		return nil
	})
	return all, extended
}

// reach returns the times that a query may read at most, with the longest lookback, in
// milliseconds.
func reach(expr parser.Expr, a asked) (start, end int64) {
	start, end = a.start.UnixMilli(), a.end.UnixMilli()
	var before, after time.Duration
	at := func(t *int64, offset time.Duration) {
		if t != nil {
			start, end = min(start, *t), max(end, *t)
		}
		before, after = before+max(offset, 0), after+max(-offset, 0)
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			at(n.Timestamp, n.OriginalOffset)
		case *parser.SubqueryExpr:
			at(n.Timestamp, n.OriginalOffset)
			before += n.Range
		}
		return nil
	})
	return start - (before + Most).Milliseconds(), end + after.Milliseconds()
}
