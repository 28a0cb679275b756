package plan

import (
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/join"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// info plans the function info. Which info series are read depends on the series of the argument,
// so that they are read when these are known.
func (p *planner) info(e *parser.Call, g block.Grid) (operator.Operator, error) {
	o := &join.Info{Grid: g}
	if len(e.Args) > 1 {
		vs, ok := e.Args[1].(*parser.VectorSelector)
		if !ok {
			return nil, notPlanned("info with another argument")
		}
		for _, m := range vs.LabelMatchers {
			if m.Name == model.MetricNameLabel {
				o.Names = append(o.Names, m)
			} else {
				o.Data = append(o.Data, m)
			}
		}
	}
	o.Names = infoNames(o.Names)
	at, offset := infoTime(e.Args[0])
	if offset%time.Millisecond != 0 || p.lookback <= 0 {
		return nil, notPlanned("ranges and offsets of no whole milliseconds")
	}
	o.Times = rangefn.Windows{
		Grid: g, Length: p.lookback.Milliseconds(), Offset: offsetAt(offset, at, g),
		Fixed: at != nil && g.Steps > 1, Stamps: true, Named: true,
	}
	var err error
	o.Base, err = p.node(e.Args[0], g)
	return o, err
}

// infoNames returns the matchers that select info metrics by their names.
func infoNames(given []*labels.Matcher) []*labels.Matcher {
	positive := func(m *labels.Matcher) bool { return m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp }
	switch {
	case slices.ContainsFunc(given, positive):
		return given
	case len(given) > 0:
		all := labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+_info")
		return append([]*labels.Matcher{all}, given...)
	}
	return []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, "target_info")}
}

// infoTime returns the @ and the offset of all selectors of an expression if they agree, else those
// of the step. It is the library's infoSeriesSelectTimestampAndOffset.
func infoTime(expr parser.Expr) (at *int64, offset time.Duration) {
	t := infoTimes{uniform: true}
	t.inspect(expr, nil)
	if !t.found || !t.uniform || t.free {
		return nil, 0
	}
	return t.first.at, t.first.offset
}

// infoReference is the @ and the offset of a selector.
type infoReference struct {
	at     *int64
	offset time.Duration
}

func (r infoReference) equal(o infoReference) bool {
	if r.at == nil || o.at == nil {
		return r.at == nil && o.at == nil && r.offset.Milliseconds() == o.offset.Milliseconds()
	}
	return *r.at-r.offset.Milliseconds() == *o.at-o.offset.Milliseconds()
}

// infoTimes are the references of the selectors of an expression.
type infoTimes struct {
	first   infoReference
	found   bool
	uniform bool
	free    bool // some vector has no selector
}

// inspect reports whether an expression has a selector.
func (t *infoTimes) inspect(expr parser.Expr, path []parser.Node) bool {
	if expr.Type() != parser.ValueTypeVector && expr.Type() != parser.ValueTypeMatrix {
		return false
	}
	if vs, ok := expr.(*parser.VectorSelector); ok {
		t.selector(vs, path)
		return true
	}
	path = append(path, expr)
	if call, ok := expr.(*parser.Call); ok && call.Func.Name == "info" {
		return t.inspect(call.Args[0], path)
	}
	has := false
	for child := range parser.ChildrenIter(expr) {
		if e, ok := child.(parser.Expr); ok && t.inspect(e, path) {
			has = true
		}
	}
	t.free = t.free || !has
	return has
}

// selector adds the reference of a selector. Offsets of subqueries around it add up until an @.
func (t *infoTimes) selector(vs *parser.VectorSelector, path []parser.Node) {
	r := infoReference{vs.Timestamp, vs.OriginalOffset}
	for i := len(path) - 1; r.at == nil && i >= 0; i-- {
		if sq, ok := path[i].(*parser.SubqueryExpr); ok {
			r.offset += sq.OriginalOffset
			r.at = sq.Timestamp
		}
	}
	if !t.found {
		t.first, t.found = r, true
	}
	t.uniform = t.uniform && t.first.equal(r)
}
