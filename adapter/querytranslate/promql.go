package querytranslate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var promqlWords = words{
	functions: map[Function]string{
		Rate: "rate", MeanOver: "avg_over_time", SumOver: "sum_over_time", LeastOver: "min_over_time", GreatestOver: "max_over_time", CountOver: "count_over_time",
	},
	aggregates: map[Aggregate]string{Sum: "sum", Mean: "avg", Least: "min", Greatest: "max", Count: "count"},
}

func readPromQL(text string) (Query, error) {
	node, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return Query{}, err
	}
	var q Query
	if node, err = q.takeAggregate(unwrap(node)); err != nil {
		return q, err
	}
	if node, err = q.takeCall(unwrap(node)); err != nil {
		return q, err
	}
	selector, ok := unwrap(node).(*parser.VectorSelector)
	if !ok {
		return q, unsaid("the query is more than a selector, a function and an aggregation")
	}
	return q, q.takeSelector(selector)
}

func unwrap(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

func (q *Query) takeAggregate(e parser.Expr) (parser.Expr, error) {
	a, ok := e.(*parser.AggregateExpr)
	if !ok {
		return e, nil
	}
	switch q.Aggregate, ok = find(promqlWords.aggregates, a.Op.String()); {
	case !ok:
		return nil, unsaid("the other languages have no aggregation %s", a.Op)
	case a.Without:
		return nil, unsaid("the other languages have no \"without\"")
	}
	q.By = slices.Sorted(slices.Values(a.Grouping))
	return a.Expr, nil
}

func (q *Query) takeCall(e parser.Expr) (parser.Expr, error) {
	c, ok := e.(*parser.Call)
	if !ok {
		return e, nil
	}
	if q.Function, ok = find(promqlWords.functions, c.Func.Name); !ok {
		return nil, unsaid("the other languages have no function %s", c.Func.Name)
	}
	m, ok := unwrap(c.Args[0]).(*parser.MatrixSelector)
	if !ok {
		return nil, unsaid("the other languages have no subqueries")
	}
	q.Window = m.Range
	return m.VectorSelector, nil
}

func (q *Query) takeSelector(v *parser.VectorSelector) error {
	if v.OriginalOffset != 0 || v.Timestamp != nil || v.StartOrEnd != 0 || v.Anchored || v.Smoothed {
		return unsaid("offset and @ are said in other ways elsewhere")
	}
	for _, m := range v.LabelMatchers {
		switch {
		case m.Name != model.MetricNameLabel:
			q.Conditions = append(q.Conditions, Condition{m.Name, Op(m.Type.String()), m.Value})
		case m.Type != labels.MatchEqual || q.Metric != "":
			return unsaid("the other languages ask for one metric by its name")
		default:
			q.Metric = m.Value
		}
	}
	return nil
}

func sayPromQL(q Query) (string, error) {
	matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, q.Metric)}
	if q.Pattern {
		m, err := labels.NewMatcher(labels.MatchRegexp, model.MetricNameLabel, globExpression(q.Metric))
		if err != nil {
			return "", unsaid("the pattern %s: %v", q.Metric, err)
		}
		matchers[0] = m
	}
	for _, c := range q.Conditions {
		kind := slices.IndexFunc(matchTypes, func(t labels.MatchType) bool { return t.String() == string(c.Op) })
		m, err := labels.NewMatcher(matchTypes[kind], c.Label, c.Value)
		if err != nil {
			return "", unsaid("the condition on %s: %v", c.Label, err)
		}
		matchers = append(matchers, m)
	}
	selector := &parser.VectorSelector{LabelMatchers: matchers}
	if !q.Pattern && model.LegacyValidation.IsValidMetricName(q.Metric) {
		selector.Name = q.Metric
	}
	text := selector.String()
	if q.Function != NoFunction {
		text = fmt.Sprintf("%s(%s[%s])", promqlWords.functions[q.Function], text, model.Duration(q.window()))
	}
	if q.Aggregate != NoAggregate {
		by := ""
		if len(q.By) > 0 {
			by = " by (" + strings.Join(quoteLabels(q.By), ", ") + ") "
		}
		text = promqlWords.aggregates[q.Aggregate] + by + "(" + text + ")"
	}
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(text); err != nil {
		return "", unsaid("PromQL has no place for its names: %v", err)
	}
	return text, nil
}

var matchTypes = []labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}

func quoteLabels(names []string) []string {
	quoted := make([]string, len(names))
	for i, n := range names {
		if quoted[i] = n; !model.LegacyValidation.IsValidLabelName(n) {
			quoted[i] = fmt.Sprintf("%q", n)
		}
	}
	return quoted
}
