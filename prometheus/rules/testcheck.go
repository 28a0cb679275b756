package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
)

// alert compares the alerts that fire with those of a test.
func (r *testRun) alert(t alertTest) error {
	want := make([]string, 0, len(t.ExpAlerts))
	for _, a := range t.ExpAlerts {
		b := labels.NewBuilder(labels.FromMap(a.ExpLabels)).Set(labels.AlertName, t.Alertname)
		want = append(want, alertText(b.Labels(), labels.FromMap(a.ExpAnnotations)))
	}
	got := []string{}
	for _, g := range r.groups {
		for _, rule := range g.AlertingRules() {
			if rule.Name() != t.Alertname {
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				if a.State == promrules.StateFiring {
					got = append(got, alertText(a.Labels, a.Annotations))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("alertname: %s, time: %s,\n    exp: %s\n    got: %s", t.Alertname, t.EvalTime, listed(want), listed(got))
}

func alertText(ls, annotations labels.Labels) string {
	return "Labels:" + ls.String() + " Annotations:" + annotations.String()
}

func listed(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, "\n         ")
}

// A testSample is a sample of an answer or of a test.
type testSample struct {
	labels    labels.Labels
	value     float64
	histogram string
}

func (s testSample) String() string {
	if s.histogram != "" {
		return s.labels.String() + " " + s.histogram
	}
	return s.labels.String() + " " + strconv.FormatFloat(s.value, 'E', -1, 64)
}

// expr compares the answer of a query with that of a test.
func (r *testRun) expr(t exprTest) error {
	got, err := r.ask(t.Expr, r.Group.start().Add(time.Duration(t.EvalTime)))
	if err != nil {
		return fmt.Errorf("err: %w", err)
	}
	var have, want []testSample
	for _, s := range got {
		have = append(have, testSample{s.Metric, s.F, histogramText(s.H)})
	}
	for _, s := range t.ExpSamples {
		one, err := r.expected(s)
		if err != nil {
			return fmt.Errorf("err: labels %q: %w", s.Labels, err)
		}
		want = append(want, one)
	}
	order := func(a, b testSample) int { return labels.Compare(a.labels, b.labels) }
	slices.SortStableFunc(have, order)
	slices.SortStableFunc(want, order)
	if slices.EqualFunc(want, have, r.equal) {
		return nil
	}
	return fmt.Errorf("\n    exp: %s\n    got: %s", listed(texts(want)), listed(texts(have)))
}

// expected reads a sample of a test.
func (r *testRun) expected(s expectedSample) (testSample, error) {
	ls, err := r.parser.ParseMetric(s.Labels)
	if err != nil || s.Histogram == "" {
		return testSample{ls, s.Value, ""}, err
	}
	_, values, err := r.parser.ParseSeriesDesc("{} " + s.Histogram)
	switch {
	case err != nil:
		return testSample{}, err
	case len(values) != 1 || values[0].Histogram == nil:
		return testSample{}, fmt.Errorf("%s is not one histogram", s.Histogram)
	}
	return testSample{ls, s.Value, histogramText(values[0].Histogram)}, nil
}

// histogramText writes a histogram as promtool compares it; "" is none.
func histogramText(h *histogram.FloatHistogram) string {
	if h == nil {
		return ""
	}
	return h.TestExpression()
}

// equal reports whether two samples are the same. With fuzzy_compare the values may be neighbours.
func (r *testRun) equal(a, b testSample) bool {
	if !labels.Equal(a.labels, b.labels) || a.histogram != b.histogram {
		return false
	}
	if r.File.FuzzyCompare && (math.Nextafter(a.value, math.Inf(-1)) == b.value || math.Nextafter(a.value, math.Inf(1)) == b.value) {
		return true
	}
	return a.value == b.value
}

func texts(samples []testSample) []string {
	all := make([]string, len(samples))
	for i, s := range samples {
		all[i] = s.String()
	}
	return all
}
