package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsf/jsondiff"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
)

// A testAlert is an alert that fires, or that a test expects.
type testAlert struct{ Labels, Annotations labels.Labels }

func (a testAlert) String() string {
	return "Labels:" + a.Labels.String() + " Annotations:" + a.Annotations.String()
}

// alert compares the alerts that fire with those of a test.
func (r *testRun) alert(t alertTest) error {
	want := make([]testAlert, 0, len(t.ExpAlerts))
	for _, a := range t.ExpAlerts {
		b := labels.NewBuilder(labels.FromMap(a.ExpLabels)).Set(labels.AlertName, t.Alertname)
		want = append(want, testAlert{b.Labels(), labels.FromMap(a.ExpAnnotations)})
	}
	got := r.firing(t.Alertname)
	order := func(a, b testAlert) int { return cmp.Compare(a.String(), b.String()) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if slices.EqualFunc(want, got, func(a, b testAlert) bool { return order(a, b) == 0 }) {
		return nil
	}
	if r.Diff {
		return fmt.Errorf("alertname: %s, time: %s,\n    diff: %s", t.Alertname, t.EvalTime, difference(want, got))
	}
	return fmt.Errorf("alertname: %s, time: %s,\n    exp: %s\n    got: %s", t.Alertname, t.EvalTime, listed(texts(want)), listed(texts(got)))
}

// firing returns the alerts of a name that fire.
func (r *testRun) firing(name string) []testAlert {
	all := []testAlert{}
	for _, g := range r.groups {
		for _, rule := range g.AlertingRules() {
			if rule.Name() != name {
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				if a.State == promrules.StateFiring {
					all = append(all, testAlert{a.Labels, a.Annotations})
				}
			}
		}
	}
	return all
}

// difference shows in colours how alerts differ from those of a test. Without any, an empty one stands for them, as in
// promtool.
func difference(want, got []testAlert) string {
	var texts [2][]byte
	for i, alerts := range [][]testAlert{want, got} {
		if len(alerts) == 0 {
			alerts = []testAlert{{}}
		}
		text, err := json.Marshal(alerts)
		if err != nil {
			return err.Error()
		}
		texts[i] = text
	}
	o := jsondiff.DefaultConsoleOptions()
	_, text := jsondiff.Compare(texts[0], texts[1], &o)
	return strings.ReplaceAll(text, "\n", "\n    ")
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

func texts[T fmt.Stringer](all []T) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = one.String()
	}
	return out
}
