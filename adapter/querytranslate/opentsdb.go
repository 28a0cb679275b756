package querytranslate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

var opentsdbWords = words{
	functions:  map[Function]string{Rate: "rate", MeanOver: "avg", SumOver: "sum", LeastOver: "min", GreatestOver: "max", CountOver: "count"},
	aggregates: map[Aggregate]string{NoAggregate: "none", Sum: "sum", Mean: "avg", Least: "min", Greatest: "max", Count: "count"},
}

func (s Speaker) readOpenTSDB(text string) (Query, error) {
	m, err := query.ParseM(strings.TrimPrefix(strings.TrimSpace(text), "m="))
	if err != nil {
		return Query{}, err
	}
	q := Query{Metric: s.Names.FromMetric(m.Metric)}
	var ok bool
	switch q.Aggregate, ok = find(opentsdbWords.aggregates, m.Aggregator); {
	case !ok:
		return q, unsaid("the other languages have no aggregation %s", m.Aggregator)
	case m.ExplicitTags || m.PreAggregate || m.RollupUsage != "" || m.Percentiles != nil || m.ShowBuckets:
		return q, unsaid("explicit_tags, percentiles and rollup usages are said in no other language")
	case m.Rate && m.Downsample != "":
		return q, unsaid("the query has two functions, downsampling and rate")
	case m.Rate:
		q.Function = Rate
	case m.Downsample != "":
		if err := q.takeDownsample(m.Downsample); err != nil {
			return q, err
		}
	}
	return q, s.takeFilters(&q, m.Filters)
}

// takeDownsample reads 5m-avg and 5m-avg-none.
func (q *Query) takeDownsample(text string) error {
	interval, function, _ := strings.Cut(text, "-")
	function, fill, _ := strings.Cut(function, "-")
	window, err := model.ParseDuration(interval)
	if err != nil || fill != "" && fill != "none" {
		return unsaid("the downsampling %s", text)
	}
	var ok bool
	if q.Function, ok = find(opentsdbWords.functions, function); !ok || q.Function == Rate {
		return unsaid("the other languages have no %s over time", function)
	}
	q.Window = time.Duration(window)
	return nil
}

func (s Speaker) takeFilters(q *Query, filters []query.Filter) error {
	for _, f := range filters {
		label, ok := s.Names.Label(f.TagKey)
		if !ok {
			return unsaid("the tag %s is no label", f.TagKey)
		}
		if f.GroupBy && q.Aggregate != NoAggregate {
			q.By = append(q.By, label)
		}
		c := Condition{Label: label, Op: Equals, Value: f.Text}
		switch f.Type {
		case "literal_or":
			if strings.Contains(f.Text, "|") {
				c.Op, c.Value = Matches, quoteAll(f.Text)
			}
		case "not_literal_or":
			if c.Op = EqualsNot; strings.Contains(f.Text, "|") {
				c.Op, c.Value = MatchesNot, quoteAll(f.Text)
			}
		case "wildcard":
			if c.Op, c.Value = Matches, strings.ReplaceAll(regexp.QuoteMeta(f.Text), `\*`, ".*"); f.Text == "*" {
				if f.GroupBy && q.Aggregate != NoAggregate {
					continue
				}
				c.Value = ".+"
			}
		case "regexp":
			if c.Op, c.Value = Matches, f.Text; !strings.HasPrefix(f.Text, "^") || !strings.HasSuffix(f.Text, "$") {
				c.Value = ".*(" + f.Text + ").*"
			} else {
				c.Value = wholeExpression(f.Text)
			}
		default:
			return unsaid("the filter %s", f.Type)
		}
		q.Conditions = append(q.Conditions, c)
	}
	slices.Sort(q.By)
	q.By = slices.Compact(q.By)
	return nil
}

// quoteAll makes an expression of values between bars.
func quoteAll(values string) string {
	all := strings.Split(values, "|")
	for i, v := range all {
		all[i] = regexp.QuoteMeta(v)
	}
	return strings.Join(all, "|")
}

func (s Speaker) sayOpenTSDB(q Query) (string, error) {
	if q.Pattern {
		return "", unsaid("OpenTSDB's queries name one metric")
	}
	parts := []string{opentsdbWords.aggregates[q.Aggregate]}
	switch q.Function {
	case NoFunction:
	case Rate:
		parts = append(parts, "rate{dropcounter}")
	default:
		parts = append(parts, fmt.Sprintf("%ds-%s", max(1, int64(q.window().Seconds())), opentsdbWords.functions[q.Function]))
	}
	var groups, filters []string
	for _, label := range q.By {
		groups = append(groups, s.Names.TagKey(label)+"=*")
	}
	for _, c := range q.Conditions {
		filter, err := filterOf(c)
		if err != nil {
			return "", err
		}
		filters = append(filters, s.Names.TagKey(c.Label)+"="+filter)
	}
	metric := s.Names.MetricName(q.Metric)
	if len(groups)+len(filters) > 0 {
		metric += "{" + strings.Join(groups, ",") + "}"
	}
	if len(filters) > 0 {
		metric += "{" + strings.Join(filters, ",") + "}"
	}
	text := strings.Join(append(parts, metric), ":")
	if _, err := query.ParseM(text); err != nil || strings.Count(text, ":") != len(parts) {
		return "", unsaid("its names or values have characters that m= has no place for")
	}
	return text, nil
}

func filterOf(c Condition) (string, error) {
	if strings.ContainsAny(c.Value, ",={}:") {
		return "", unsaid("the value %q has characters that m= has no place for", c.Value)
	}
	switch {
	case c.Value == "":
		return "", unsaid("OpenTSDB has no condition for a tag that is not there")
	case c.Op == Equals && !strings.Contains(c.Value, "|"):
		return "literal_or(" + c.Value + ")", nil
	case c.Op == EqualsNot && !strings.Contains(c.Value, "|"):
		return "not_literal_or(" + c.Value + ")", nil
	case c.Op == Matches:
		return "regexp(^(" + c.Value + ")$)", nil // (?: cannot be written: colons part the query
	}
	return "", unsaid("OpenTSDB has no filter for %s%s%q", c.Label, c.Op, c.Value)
}
