package rangeql_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// newMixedStore has histograms, floats, and classic buckets whose counts fall now and then, some with a native
// histogram of the same labels beside them.
func newMixedStore(rng *rand.Rand) *histogramStore {
	s := newHistogramStore(rng, 4)
	floats := func(ls labels.Labels) {
		one, v := storedSeries{labels: ls}, 0.0
		for at := rng.Int64N(30_000); at < histogramsEnd; at += []int64{30_000, 30_000, 30_000, 300_000}[rng.IntN(4)] {
			v += float64(rng.IntN(10))
			one.samples = append(one.samples, storedSample{t: at, f: v - float64(rng.IntN(5))})
		}
		s.series = append(s.series, one)
	}
	for i := range 4 {
		floats(labels.FromStrings(model.MetricNameLabel, []string{"f", "f_total"}[i%2], "i", fmt.Sprint(i/2), "group", fmt.Sprint(i%3)))
	}
	for _, i := range []string{"0", "1"} {
		for _, le := range []string{"1", "2", "4", "+Inf", "x"} {
			if le != "x" || rng.IntN(4) == 0 {
				floats(labels.FromStrings(model.MetricNameLabel, "b_bucket", "i", i, "le", le))
			}
		}
	}
	if rng.IntN(4) == 0 {
		m := &histogramMaker{rng: rng, layout: rng.IntN(4)}
		one := storedSeries{labels: labels.FromStrings(model.MetricNameLabel, "b_bucket", "i", "0")}
		for at := int64(0); at < histogramsEnd; at += 60_000 {
			one.samples = append(one.samples, m.next(at))
		}
		s.series = append(s.series, one)
	}
	slices.SortFunc(s.series, func(a, b storedSeries) int { return labels.Compare(a.labels, b.labels) })
	return s
}

// annotatedQuestion makes a query that is likely to have annotations or an error.
func annotatedQuestion(rng *rand.Rand) question {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	gap := func() string { return pick("", "", "  ", "\n") }
	selector := func() string { return pick("h", "other", "f", "f_total", `{i="0"}`, `{__name__=~"f|h"}`) }
	modifiers := func() string { return pick("", "", "", " offset 1m", " @ 900", " @ end()") }
	quantile := func() string {
		return pick("0.9", "0.5", "2", "-1", "NaN", `scalar(f{i="0"}) / 20`, "time() - 1000")
	}
	ranged := func() string {
		switch rng.IntN(6) {
		case 0:
			return fmt.Sprintf("quantile_over_time(%s,%s%s[%s]%s)", quantile(), gap(), selector(), pick("1m", "5m"), modifiers())
		case 1:
			return fmt.Sprintf("quantile_over_time(%s, %s[5m:%s])", quantile(), selector(), pick("1m", "30s"))
		case 2:
			return fmt.Sprintf("%s(%s[5m:1m])", pick("rate", "increase", "avg_over_time"), selector())
		case 3:
			return fmt.Sprintf("%s(%s[%s] %s)", pick("rate", "increase", "delta"), selector(), pick("1m", "5m"), pick("anchored", "smoothed"))
		}
		f := pick("rate", "rate", "increase", "delta", "irate", "sum_over_time", "avg_over_time", "min_over_time", "stddev_over_time", "deriv", "mad_over_time", "ts_of_max_over_time", "last_over_time", "resets")
		return fmt.Sprintf("%s(%s%s[%s]%s)", f, gap(), selector(), pick("1m", "5m", "10m"), modifiers())
	}
	buckets := func() string {
		b := pick("b_bucket", "b_bucket", "rate(b_bucket[5m])", "sum by (le) (rate(b_bucket[5m]))", `{__name__=~"b_bucket|f"}`, "h", "increase(h[5m])", "last_over_time(b_bucket[1m])")
		switch rng.IntN(5) {
		case 0:
			return fmt.Sprintf(`histogram_quantiles(%s, "q", %s, %s)`, b, pick("0.5", "2"), pick("0.9", "2", "-1"))
		case 1:
			return fmt.Sprintf("histogram_fraction(%s, %s, %s)", pick("0", "1"), pick("2", "5"), b)
		}
		return fmt.Sprintf("histogram_quantile(%s, %s)", quantile(), b)
	}
	vector := func() string {
		switch rng.IntN(6) {
		case 0:
			return selector() + modifiers()
		case 1, 2:
			return buckets()
		}
		return ranged()
	}
	text := vector()
	for range 1 + rng.IntN(2) {
		other := vector()
		if rng.IntN(2) == 0 {
			other = text
		}
		switch rng.IntN(10) {
		case 0, 1:
			text = fmt.Sprintf("%s %s%s %s", text, pick("+", "-", "*", "/", ">", "== bool", "and", "or", "unless", "</", ">/"), gap(), other)
		case 2:
			text = fmt.Sprintf("(%s) %s %s %s (%s)", text, pick("+", "/", "> bool"),
				pick("on (group)", "on (i)", "on (i) group_left ()", "ignoring (group) group_left ()", "on (group) group_right ()", "on ()"),
				pick("", "fill (1)", "fill_left (2)", "fill_right (3)"), other)
		case 3:
			text = fmt.Sprintf("(%s) %s 2", text, pick("*", "+", ">", "</", ">/", "== bool"))
		case 4:
			text = fmt.Sprintf("2 %s (%s)", pick("*", "/", "<", "</"), text)
		case 5:
			text = fmt.Sprintf("%s(%s, %s)", pick("topk", "bottomk", "limitk", "limit_ratio", "quantile"), pick("1", "2", "0.5", "-1", "3 - time() / 400"), text)
		case 6:
			text = fmt.Sprintf("%s by (%s) (%s)", pick("sum", "avg", "min", "stddev", "count"), pick("i", "group", "le"), text)
		case 7:
			text = fmt.Sprintf("%s(%s)", pick("sort", "sort_desc", "abs", "histogram_count", "-", "absent", "timestamp"), text)
		case 8:
			text = fmt.Sprintf("max_over_time((%s)[5m:%s])", text, pick("1m", "30s"))
		}
	}
	q := question{text: text, unordered: true, attempts: 50, start: rng.Int64N(histogramsEnd), instant: rng.IntN(3) == 0}
	q.step = []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute}[rng.IntN(3)]
	q.end = q.start + rng.Int64N(histogramsEnd/2)
	return q
}

// TestAnnotationsAsLibrary compares annotations, with all their words and positions, and errors.
func TestAnnotationsAsLibrary(t *testing.T) {
	questions := scale.Of(t, "random queries with annotations", 2000, 3000, 100_000)
	rng := rand.New(rand.NewPCG(31, 32))
	both := []engines{newEngines(t, manySamples, false), newEngines(t, manySamples, true)}
	annotated := 0
	for i := range questions {
		s, q := columnSource{Queryable: newMixedStore(rng)}, annotatedQuestion(rng)
		both[i%2].compare(t, q, s)
		if r, query := q.ask(t, both[i%2].ours, s); len(r.Warnings) > 0 || r.Err != nil {
			annotated++
			query.Close()
		}
		if t.Failed() {
			t.Fatalf("question %d", i)
		}
	}
	if annotated < questions/2 {
		t.Errorf("only %d queries had annotations or errors", annotated)
	}
	if paths := both[0].paths(t); paths["columns"] < questions/2*8/10 {
		t.Errorf("%d queries went by %v", questions/2, paths)
	}
}

// TestErrorOfSharedRead: the error of a selector's function is not that of an expression before it that reads
// the same series.
func TestErrorOfSharedRead(t *testing.T) {
	s := &histogramStore{}
	for _, name := range []string{"f", "h"} {
		one := storedSeries{labels: labels.FromStrings(model.MetricNameLabel, name, "i", "0")}
		for at := int64(0); at < histogramsEnd; at += 30_000 {
			one.samples = append(one.samples, storedSample{t: at, f: float64(at)})
		}
		s.series = append(s.series, one)
	}
	const both = `{__name__=~"f|h"}`
	q := question{text: "last_over_time(" + both + "[5m]) / on (i) f * rate(" + both + "[5m])", start: 600_000, end: 900_000, step: time.Minute}
	newEngines(t, manySamples, false).compare(t, q, columnSource{Queryable: s})
}
