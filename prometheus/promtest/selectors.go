package promtest

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
)

// Matchers parses a selector, also one that a query may not have: {}.
func Matchers(t testing.TB, selector string) []*labels.Matcher {
	t.Helper()
	if selector == "{}" {
		return nil
	}
	ms, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// Labels parses the labels of one series.
func Labels(t testing.TB, series string) labels.Labels {
	t.Helper()
	ls, err := parser.NewParser(parser.Options{}).ParseMetric(series)
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

func ReadQuery(t testing.TB, start, end int64, hints *promstorage.SelectHints, selector string) *prompb.Query {
	t.Helper()
	q, err := remote.ToQuery(start, end, Matchers(t, selector), hints)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
