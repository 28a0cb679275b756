package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// AnyMetric is the metric of a Match that all metrics have.
const AnyMetric = "*"

// A Match selects the series of a metric whose tags pass all of its filters.
type Match struct {
	Metric  string // AnyMetric: all
	Filters []Filter

	passes []func(value string) bool // of each filter
}

// maxMatch bounds the text of a Match, in bytes.
const maxMatch = 1 << 20

// linearMatcher is matcher for as many series as there are, where no query bounds the work: a regular
// expression must take linear time.
func (f Filter) linearMatcher() (func(string) bool, error) {
	if f.Type != "regexp" {
		return f.matcher(nil), nil
	}
	pattern, err := javaregexp.Compile(f.Text)
	if err == nil {
		err = pattern.Linear()
	}
	if err != nil {
		return nil, err
	}
	return pattern.MatchLinear, nil
}

// ParseMatch reads metric[{tag=filter,…}[{tag=filter,…}]], as ParseM reads the last part of m. The metric may be "*".
func ParseMatch(s string) (Match, error) {
	if len(s) > maxMatch {
		return Match{}, fmt.Errorf("it has more than %d bytes", maxMatch)
	}
	var q SubQuery
	if err := q.parseMetric(s); err != nil {
		return Match{}, err
	}
	if q.Metric == "" {
		return Match{}, errors.New("it has no metric; * is all")
	}
	if q.Metric != AnyMetric && strings.Contains(q.Metric, "*") {
		return Match{}, fmt.Errorf("metric %q: * can only stand for all metrics", q.Metric)
	}
	m := Match{Metric: q.Metric, Filters: q.Filters}
	for _, f := range m.Filters {
		pass, err := f.linearMatcher()
		if err != nil {
			return Match{}, fmt.Errorf("%s: %w", f.Text, err)
		}
		m.passes = append(m.passes, pass)
	}
	return m, nil
}

// Selects reports whether a Match selects a series.
func (m Match) Selects(s storage.Series) bool {
	if m.Metric != AnyMetric && m.Metric != s.Metric {
		return false
	}
	for n, f := range m.Filters {
		i := slices.IndexFunc(s.Tags, func(t storage.Tag) bool { return t.Key == f.TagKey })
		if i < 0 {
			return false
		}
		if pass := m.passes[n]; pass != nil && !pass(s.Tags[i].Value) {
			return false
		}
	}
	return true
}

// Of returns the conditions that a store finds the series of a metric by; ok is false if the Match
// does not select any of the metric. All filters hold, also several for one tag, for which a query of a TSD has rules of
// its own.
func (m Match) Of(metric string) (conditions []storage.Filter, ok bool) {
	if m.Metric != AnyMetric && m.Metric != metric {
		return nil, false
	}
	conditions = []storage.Filter{{Values: []string{metric}}}
	for n, f := range m.Filters {
		c := storage.Filter{Keys: []string{f.TagKey}}
		if f.Type == "literal_or" {
			c.Values = f.literals()
		} else {
			c.Match = m.passes[n]
		}
		conditions = append(conditions, c)
	}
	return slices.Clip(conditions), true
}
