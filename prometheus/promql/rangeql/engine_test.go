package rangeql_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
)

// columnSource reads any storage as columns.
type columnSource struct {
	promstorage.Queryable
	fail     error // of Read, for every series from failFrom on
	failFrom int
	reads    func()                      // called by every Read
	only     func(ls labels.Labels) bool // series that are found; nil: all
}

func (s columnSource) Columns(ctx context.Context, sel columns.Selector) (columns.Set, error) {
	q, err := s.Querier(sel.Start, sel.End)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	set := q.Select(ctx, false, &promstorage.SelectHints{Start: sel.Start, End: sel.End}, sel.Matchers...)
	c := &testColumns{source: s}
	for set.Next() {
		if s.only != nil && !s.only(set.At().Labels()) {
			continue
		}
		one := testSeries{labels: set.At().Labels()}
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind != chunkenc.ValFloat {
				t, h := it.AtFloatHistogram(nil)
				one.histograms = append(one.histograms, promql.HPoint{T: t, H: h})
				continue
			}
			t, v := it.At()
			one.times, one.values = append(one.times, t), append(one.values, v)
		}
		c.series = append(c.series, one)
	}
	return c, set.Err()
}

type testSeries struct {
	labels labels.Labels
	times  []int64
	values []float64

	histograms []promql.HPoint
}

type testColumns struct {
	source columnSource
	series []testSeries
}

func (c *testColumns) Len() int                   { return len(c.series) }
func (c *testColumns) Labels(i int) labels.Labels { return c.series[i].labels }

// distanceOf returns the distance of uniform times, else 0.
func distanceOf(times []int64) int64 {
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != times[1]-times[0] {
			return 0
		}
	}
	if len(times) < 2 {
		return 0
	}
	return times[1] - times[0]
}

// Read gives each series as a part of its own, to two workers in turn.
func (c *testColumns) Read(ctx context.Context, _ int, worker func() columns.Worker) error {
	workers := []columns.Worker{worker(), worker()}
	for i, s := range c.series {
		if c.source.reads != nil {
			c.source.reads()
		}
		if c.source.fail != nil && i >= c.source.failFrom {
			return c.source.fail
		}
		w := workers[i%2]
		err := w.Take(ctx, func(yield func(int, columns.Column) bool) {
			if len(s.times)+len(s.histograms) > 0 {
				column := columns.Column{Times: s.times, Values: s.values, Histograms: s.histograms}
				if i%3 > 0 { // a store knows it of most series
					column.Distance = distanceOf(s.times)
				}
				yield(i, column)
			}
		})
		if err == nil {
			err = w.Commit(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// engines are the library's engine and ours over it, with our counts of queries by path.
type engines struct {
	library  *promql.Engine
	ours     *rangeql.Engine
	registry *prometheus.Registry
}

// manySamples is the product's limit, which these tests never reach.
const manySamples = 50_000_000

func newEngines(t testing.TB, maxSamples int, delayedNames bool) engines {
	t.Helper()
	e := engines{
		library: promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
			MaxSamples: maxSamples, Timeout: time.Minute, NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
			EnableAtModifier: true, EnableNegativeOffset: true, EnableDelayedNameRemoval: delayedNames,
			Parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableExtendedRangeSelectors: true, EnableBinopFillModifiers: true}),
		}),
		registry: prometheus.NewRegistry(),
	}
	e.ours = rangeql.New(rangeql.Options{Library: e.library, DelayedNames: delayedNames, MaxSamples: maxSamples, Timeout: time.Minute, Registerer: e.registry})
	return e
}

// paths counts queries by their path.
func (e engines) paths(t testing.TB) map[string]int {
	t.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
		}
	}
	return out
}

// question is a query with its times.
type question struct {
	text       string
	start, end int64 // milliseconds
	step       time.Duration
	instant    bool
	// unordered means that the library answers an instant in the order of a map.
	unordered bool
	// attempts are how often the library is asked again for an answer that depends on the order of a map.
	attempts int
}

func sortVector(r *promql.Result) {
	if v, ok := r.Value.(promql.Vector); ok {
		slices.SortFunc(v, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
	}
}

func (q question) String() string {
	if q.instant {
		return fmt.Sprintf("%s at %d", q.text, q.start)
	}
	return fmt.Sprintf("%s from %d to %d step %s", q.text, q.start, q.end, q.step)
}

func (q question) ask(t testing.TB, e promql.QueryEngine, s promstorage.Queryable) (*promql.Result, promql.Query) {
	t.Helper()
	var query promql.Query
	var err error
	if q.instant {
		query, err = e.NewInstantQuery(t.Context(), s, nil, q.text, time.UnixMilli(q.start))
	} else {
		query, err = e.NewRangeQuery(t.Context(), s, nil, q.text, time.UnixMilli(q.start), time.UnixMilli(q.end), q.step)
	}
	if err != nil {
		t.Fatalf("%s: %v", q.text, err)
	}
	return query.Exec(t.Context()), query
}

// bits returns the bits of a float. The payload of a computed NaN depends on the machine and on the
// order of the operands, so all NaNs except stale markers are treated as one.
func bits(f float64) uint64 {
	if math.IsNaN(f) && !value.IsStaleNaN(f) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// show prints a result with all its bits, and annotations with their positions in the query.
func show(r *promql.Result, text string) string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintln(&b, "error:", r.Err)
	}
	warnings, infos := r.Warnings.AsStrings(text, 0, 0)
	notes := append(warnings, infos...)
	slices.Sort(notes)
	for _, note := range notes {
		fmt.Fprintln(&b, "note:", note)
	}
	switch v := r.Value.(type) {
	case promql.Vector:
		fmt.Fprintln(&b, "vector")
		for _, s := range v {
			fmt.Fprintf(&b, "%s %t %d %016x %v %s\n", s.Metric, s.DropName, s.T, bits(s.F), s.F, showHistogram(s.H))
		}
	case promql.Matrix:
		fmt.Fprintln(&b, "matrix")
		for _, s := range v {
			fmt.Fprintln(&b, s.Metric, s.DropName)
			for _, p := range s.Floats {
				fmt.Fprintf(&b, "  %d %016x %v\n", p.T, bits(p.F), p.F)
			}
			for _, p := range s.Histograms {
				fmt.Fprintf(&b, "  %d %s\n", p.T, showHistogram(p.H))
			}
		}
	default:
		fmt.Fprintf(&b, "%T %v\n", v, v)
	}
	return b.String()
}

// showHistogram prints a histogram with its hint.
func showHistogram(h *histogram.FloatHistogram) string {
	if h == nil {
		return "no histogram"
	}
	return fmt.Sprintf("hint %d, schema %d, %v", h.CounterResetHint, h.Schema, h)
}

// hasSubquery: of the values of a subquery, the library counts those alone as read that a range has.
func (q question) hasSubquery() bool { return strings.Contains(q.text, ":") }

// compare sends a query to both engines and counts the series of the answer.
func (e engines) compare(t testing.TB, q question, s promstorage.Queryable) int {
	t.Helper()
	wantResult, want := q.ask(t, e.library, s)
	defer want.Close()
	gotResult, got := q.ask(t, e.ours, s)
	defer got.Close()
	if q.unordered {
		sortVector(wantResult)
		sortVector(gotResult)
	}
	g, w := show(gotResult, q.text), show(wantResult, q.text)
	for range q.attempts {
		if g == w {
			break
		}
		again, query := q.ask(t, e.library, s)
		if q.unordered {
			sortVector(again)
		}
		w = show(again, q.text)
		query.Close()
	}
	if g != w {
		t.Errorf("%s:\n%s", q, firstDifference(g, w))
	}
	if g, w := got.Stats().Samples, want.Stats().Samples; gotResult.Err == nil && !q.hasSubquery() && (g.TotalSamples != w.TotalSamples || g.SamplesRead != w.SamplesRead) {
		t.Errorf("%s: %d samples, %d read; the library counts %d, %d", q, g.TotalSamples, g.SamplesRead, w.TotalSamples, w.SamplesRead)
	}
	switch v := wantResult.Value.(type) {
	case promql.Vector:
		return len(v)
	case promql.Matrix:
		return len(v)
	}
	return 0
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, the library has %q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, the library has %d", len(g), len(w))
}

// dataEnd is the last time of random data, milliseconds.
const dataEnd = 3600_000

// writeRandom writes series with all special cases of floats: gaps, stale markers, NaN, infinities,
// resets, uneven spacing.
func writeRandom(t testing.TB, s *teststorage.TestStorage, rng *rand.Rand, series int) {
	t.Helper()
	app := s.AppenderV2(t.Context())
	for i := range series {
		name := []string{"requests_total", "temperature", "bytes_sum"}[i%3]
		ls := labels.FromStrings(model.MetricNameLabel, name, "i", fmt.Sprint(i), "group", fmt.Sprint(i%7), "dc", fmt.Sprint(rng.IntN(2)))
		if i%11 == 0 { // differs from another one in the name alone
			ls = labels.FromStrings(model.MetricNameLabel, name, "duplicate", fmt.Sprint(i/22))
		}
		kind, at, v := rng.IntN(6), rng.Int64N(20_000), rng.Float64()*100
		for at <= dataEnd {
			gap := int64(15_000)
			if i%4 == 1 {
				v = uniformValue(rng, i, v)
			} else {
				v, gap = nextValue(rng, kind, v), nextGap(rng, kind)
			}
			if _, err := app.Append(0, ls, 0, at, v, nil, nil, promstorage.AppendV2Options{}); err != nil {
				t.Fatal(err)
			}
			if math.IsNaN(v) || math.IsInf(v, 0) {
				v = rng.Float64()
			}
			at += gap
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// uniformValue is the next value of a series with samples at uniform distances: of a gauge of whole
// numbers or of one sign, or of a counter, which half of them interrupt at times.
func uniformValue(rng *rand.Rand, series int, v float64) float64 {
	switch kind := series / 4 % 5; {
	case kind == 2 && rng.IntN(30) > 0:
		return float64(rng.IntN(40) - 20)
	case kind == 2:
		return math.Copysign(0, -1)
	case kind == 3:
		return math.Copysign(50+10*rng.Float64(), float64(series%8)-4)
	case kind == 0 || rng.IntN(200) > 0:
		return v + rng.Float64()*10
	}
	return []float64{math.NaN(), math.Inf(1), 0, -v, math.MaxFloat64}[rng.IntN(5)]
}

func nextValue(rng *rand.Rand, kind int, v float64) float64 {
	switch n := rng.IntN(100); {
	case n < 3:
		return math.Float64frombits(value.StaleNaN)
	case n < 5 && kind > 1:
		return math.NaN()
	case n < 6 && kind == 3:
		return math.Inf(1 - 2*rng.IntN(2))
	case n < 8:
		return 0
	case kind == 4:
		return rng.NormFloat64() * math.MaxFloat64 / 4
	case kind == 5:
		return rng.NormFloat64() * 1e-3
	}
	return v + rng.Float64()*10
}

func nextGap(rng *rand.Rand, kind int) int64 {
	switch n := rng.IntN(100); {
	case n < 2:
		return rng.Int64N(900_000) + 1
	case n < 10 && kind%2 == 0:
		return rng.Int64N(100) + 1
	}
	return 15_000
}

// randomQuestion makes a query of a shape that columns answer.
func randomQuestion(rng *rand.Rand) question {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	selector := pick("requests_total", "temperature", "bytes_sum", `{i=~"1.*"}`, `{__name__!=""}`, `{group="3"}`, `requests_total{dc="0"}`, "absent_metric")
	modifiers := pick("", "", "", " offset 3m", " offset -2m", " @ 1800", " @ start()", " @ end() offset 1m")
	text := selector + modifiers
	if rng.IntN(4) > 0 {
		function := pick("rate", "increase", "delta", "irate", "idelta", "resets", "changes", "last_over_time", "count_over_time", "present_over_time",
			"sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "stdvar_over_time", "stddev_over_time",
			"deriv", "mad_over_time", "ts_of_max_over_time", "ts_of_min_over_time", "ts_of_first_over_time", "ts_of_last_over_time",
			"predict_linear", "quantile_over_time", "double_exponential_smoothing")
		before, after := "", ""
		switch function {
		case "predict_linear":
			after = pick(", 3600", ", -60", ", time()")
		case "quantile_over_time":
			before = pick("0.5, ", "0.99, ", "1, ", "2, ")
		case "double_exponential_smoothing":
			after = pick(", 0.5, 0.5", ", 0.01, 0.9")
		}
		text = fmt.Sprintf("%s(%s%s[%s]%s%s)", function, before, selector, pick("1m", "5m", "17s", "1100ms", "33m"), modifiers, after)
	}
	switch rng.IntN(16) {
	case 8:
		text = selector + " smoothed" + modifiers
	case 9:
		text = fmt.Sprintf("%s(%s[%s] %s%s)", pick("rate", "increase", "delta", "changes", "resets"), selector, pick("1m", "5m", "17s"), pick("anchored", "smoothed"), modifiers)
	case 10:
		text = pick(`label_replace(%s, "dc", "$1", "group", "(.*)")`, `label_join(%s, "group", "-", "dc", "i")`, `count_values("v", %s)`, `sum by (group) (label_replace(%s, "group", "x", "group", "[1-3]"))`)
		text = strings.ReplaceAll(text, "%s", selector+modifiers)
	case 11:
		text = fmt.Sprintf(pick("limitk(%s, %s)", "topk(%s, %s)", "limit_ratio(%s, %s)", "quantile(%s, %s)"), pick("2", "0.5", "NaN", "-1", "1e30", "-1e30"), text)
	case 12, 13:
		text = fmt.Sprintf("%s %s %s %s", selector+modifiers, pick("+", "/", ">", "> bool", "==", ">/"),
			pick("on (group)", "on (dc) group_left ()", "ignoring (i) group_left (dc)", "on (group) group_right (i)", "on (i)", "ignoring (i, group) group_right ()", "on (group) fill (1)", "on (dc) group_left () fill_right (2)", "on ()"),
			pick("requests_total", "temperature offset 1m", "sum by (group) (rate(bytes_sum[5m]))", `last_over_time({group="3"}[20s])`))
	case 0:
		text = fmt.Sprintf("max_over_time((%s)[%s:%s]%s)", text, pick("5m", "20m"), pick("", "1m", "15s"), pick("", " offset 7m"))
	case 1:
		text = fmt.Sprintf("topk by (group) (%s, %s)", pick("1", "3", "1000"), text)
	case 2:
		text = fmt.Sprintf("quantile by (dc) (%s, %s)", pick("0.5", "0.9", "-1"), text)
	case 3:
		text = fmt.Sprintf("(%s) %s %s %s", text, pick("+", "/", "> bool", "<", "and", "or", "unless"), pick("on (i, group)", "ignoring (dc)"), pick("requests_total", "temperature offset 1m", "rate(bytes_sum[5m])"))
	case 4:
		text = fmt.Sprintf("%s(%s)", pick("abs", "sgn", "-", "round", "timestamp", "day_of_week", "absent", "sort_desc"), text)
	case 5, 6, 7:
		text = fmt.Sprintf("%s %s (%s)", pick("stddev", "stdvar", "sum", "avg", "min", "max", "count", "group"),
			pick("", "by (group)", "by (dc, group)", "without (i)", "without (group, dc)", "by (__name__)", "by (nothing)"), text)
	}
	for rng.IntN(3) == 0 {
		number := pick("2", "0", "(-1.5)", "1e300", "NaN", "(3)")
		op := pick("+", "-", "*", "/", "^", "%", "atan2", "==", "!=", ">", "<", ">=", "<=", "> bool", "== bool")
		if rng.IntN(2) == 0 {
			text = fmt.Sprintf("%s %s (%s)", number, op, text)
		} else {
			text = fmt.Sprintf("(%s) %s %s", text, op, number)
		}
	}
	q := question{text: text, start: rng.Int64N(dataEnd), instant: rng.IntN(3) == 0}
	if strings.Contains(q.text, "count_values") {
		q.instant = false // The library gives the values in no order.
	}
	if q.instant && rng.IntN(8) == 0 { // an answer without steps
		q.text = pick(selector+"[5m]", selector+"[5m]", selector+"[3m] anchored", selector+"[3m] smoothed", "("+text+")[9m:1m]", "rate(temperature[1m])[1s:1m]", `"text"`, `("a")`)
		if !strings.HasPrefix(q.text, "(") && !strings.Contains(q.text, "1s:") && !strings.Contains(q.text, `"`) {
			q.text += modifiers
		}
	}
	q.step = []time.Duration{15 * time.Second, time.Minute, 7100 * time.Millisecond, 20 * time.Minute}[rng.IntN(4)]
	q.end = q.start + rng.Int64N(dataEnd)
	return q
}

// TestSameAsLibrary sends the same queries to both engines, and checks that most of them were
// answered from columns.
func TestSameAsLibrary(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(1, 2)), 150)
	for _, delayed := range []bool{false, true} {
		t.Run(fmt.Sprintf("delayed names %t", delayed), func(t *testing.T) {
			compareMany(t, newEngines(t, manySamples, delayed), columnSource{Queryable: s})
		})
	}
}

func compareMany(t *testing.T, e engines, s promstorage.Queryable) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	questions := scale.Of(t, "random queries of columns' shapes", 600, 600, 20_000)
	answered := 0
	for range questions {
		if e.compare(t, randomQuestion(rng), s) > 0 {
			answered++
		}
		if t.Failed() {
			break
		}
	}
	if paths := e.paths(t); paths["columns"] < questions*8/10 || paths["engine"] > questions/100 {
		t.Errorf("%d queries went by %v", questions, paths)
	}
	if answered < questions/2 {
		t.Errorf("only %d queries found anything", answered)
	}
}

// TestLimits tries every limit around what the queries need: an error must occur when the library's
// does, with the same text.
func TestLimits(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(5, 6)), 12)
	rng := rand.New(rand.NewPCG(7, 8))
	refused := 0
	for _, limit := range []int{1, 2, 10, 40, 100, 150, 400, 1000, 3000} {
		e := newEngines(t, limit, limit%20 == 0)
		for range 60 {
			q := randomQuestion(rng)
			if q.hasSubquery() {
				continue // Its cost is limited before the library sees it.
			}
			e.compare(t, q, columnSource{Queryable: s})
			if r, query := q.ask(t, e.ours, columnSource{Queryable: s}); r.Err != nil {
				refused++
				query.Close()
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d queries met a limit", refused)
	}
}

// TestReadErrors: an error in the middle of the series becomes the error of the query.
func TestReadErrors(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(9, 10)), 150)
	e := newEngines(t, manySamples, false)
	away := errors.New("the store is away")
	q := question{text: `sum by (group) (rate({__name__!=""}[5m]))`, start: 600_000, end: 1200_000, step: time.Minute}
	for _, from := range []int{0, 1, 60, 149} {
		r, query := q.ask(t, e.ours, columnSource{Queryable: s, fail: away, failFrom: from})
		if !errors.Is(r.Err, away) || r.Value != nil {
			t.Errorf("fail from %d: %v with %v", from, r.Err, r.Value)
		}
		query.Close()
	}
}

// TestCanceled: a query whose context ends while it reads has no answer.
func TestCanceled(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(11, 12)), 150)
	e := newEngines(t, manySamples, false)
	ctx, cancel := context.WithCancel(t.Context())
	query, err := e.ours.NewInstantQuery(ctx, columnSource{Queryable: s, reads: cancel}, nil, `count({__name__!=""})`, time.UnixMilli(600_000))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	r := query.Exec(ctx)
	var canceled promql.ErrQueryCanceled
	if !errors.As(r.Err, &canceled) || r.Value != nil {
		t.Errorf("error %v, value %v", r.Err, r.Value)
	}
}

// TestShapes: every operator evaluates over columns.
func TestShapes(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(13, 14)), 30)
	e := newEngines(t, manySamples, false)
	texts := []string{
		`1`, `time()`, `requests_total + requests_total`, `topk(2, requests_total)`, `quantile(0.5, requests_total)`,
		`rate(requests_total[5m:1m])`, `abs(temperature)`, `-temperature`, `sum(abs(temperature))`, `temperature * scalar(temperature)`,
		`quantile_over_time(0.5, temperature[5m])`, `absent_over_time(temperature[5m])`, `temperature and temperature`,
	}
	for _, text := range texts {
		e.compare(t, question{text: text, start: 1800_000, instant: true}, columnSource{Queryable: s})
	}
	if paths := e.paths(t); paths["columns"] != len(texts) {
		t.Errorf("%d queries went by %v", len(texts), paths)
	}
}

// TestOtherShapes: the library evaluates the rest.
func TestOtherShapes(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(13, 14)), 30)
	e := newEngines(t, manySamples, false)
	texts := []string{`start_timestamp(temperature)`, `timestamp(temperature @ 600 offset 1m)`}
	for _, text := range texts {
		e.compare(t, question{text: text, start: 1800_000, instant: true}, columnSource{Queryable: s})
	}
	if paths := e.paths(t); paths["engine"] != len(texts) {
		t.Errorf("%d queries went by %v", len(texts), paths)
	}
}

// TestOnlyStale: a series with stale markers alone, after one with samples at uniform distances.
func TestOnlyStale(t *testing.T) {
	c := &testColumns{series: []testSeries{{labels: labels.FromStrings(model.MetricNameLabel, "m_total", "i", "a")}, {labels: labels.FromStrings(model.MetricNameLabel, "m_total", "i", "b")}}}
	for i := range 240 {
		at := int64(i) * 15_000
		a, b := &c.series[0], &c.series[1]
		a.times, a.values = append(a.times, at), append(a.values, float64(i))
		b.times, b.values = append(b.times, at), append(b.values, math.Float64frombits(value.StaleNaN))
	}
	e := newEngines(t, manySamples, false)
	for _, f := range []string{"rate", "increase", "sum_over_time", "avg_over_time", "deriv"} {
		q := question{text: "count(" + f + "(m_total[5m]))", start: 600_000, end: 3000_000, step: time.Minute}
		r, query := q.ask(t, e.ours, memorySource{columns: &testColumns{series: append(slices.Repeat(c.series[:1], 2), c.series[1], c.series[1])}})
		if m, ok := r.Value.(promql.Matrix); !ok || len(m) != 1 || m[0].Floats[0].F != 2 {
			t.Errorf("%s: %v, %v", f, r.Value, r.Err)
		}
		query.Close()
	}
}

// TestUniformClasses: the distance of the steps is no multiple of that of the samples.
func TestUniformClasses(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(17, 18)), 40)
	e := newEngines(t, manySamples, false)
	rng := rand.New(rand.NewPCG(19, 20))
	for _, f := range []string{"rate(X)", "increase(X)", "sum_over_time(X)", "avg_over_time(X)", "deriv(X)", "predict_linear(X, 60)", "predict_linear(X, time() / 1e3)"} {
		steps := []time.Duration{10 * time.Second, 20 * time.Second, 36 * time.Second, 67 * time.Second}
		for _, step := range slices.Repeat(steps, scale.Of(t, "repetitions of uneven steps", 2, 2, 20)) {
			window := []string{"[1m]", "[5m]", "[5m] offset 7s", "[20m]", "[14s]", "[5m] offset -20m"}[rng.IntN(6)]
			text := strings.ReplaceAll(f, "X", `{i!=""}`+window)
			start := rng.Int64N(1200_000)
			e.compare(t, question{text: "(" + text + ") > -1e300", start: start, end: start + 2900_000, step: step}, columnSource{Queryable: s})
			e.compare(t, question{text: "count(" + text + ")", start: start, end: start + 2900_000, step: step}, columnSource{Queryable: s})
		}
	}
}

// TestLimitRatioOfKinds: a number that limit_ratio keeps stays a number, whatever was left out before.
func TestLimitRatioOfKinds(t *testing.T) {
	c := &testColumns{}
	for i := range 40 {
		s := testSeries{labels: labels.FromStrings(model.MetricNameLabel, "m", "i", fmt.Sprint(i), "kind", []string{"histogram", "number"}[i%2])}
		for at := int64(0); at <= 1800_000; at += 60_000 {
			if i%2 == 0 {
				s.histograms = append(s.histograms, promql.HPoint{T: at, H: &histogram.FloatHistogram{Count: 1, Sum: 1}})
			} else {
				s.times, s.values = append(s.times, at), append(s.values, float64(i))
			}
		}
		c.series = append(c.series, s)
	}
	e := newEngines(t, manySamples, false)
	q := question{text: "limit_ratio(0.5, m)", start: 600_000, end: 1800_000, step: time.Minute}
	r, query := q.ask(t, e.ours, memorySource{columns: c})
	defer query.Close()
	kinds := map[string]int{}
	for _, s := range r.Value.(promql.Matrix) {
		kind := s.Metric.Get("kind")
		kinds[kind]++
		if len(s.Histograms) > 0 != (kind == "histogram") {
			t.Errorf("%v has %d histograms", s.Metric, len(s.Histograms))
		}
	}
	if len(kinds) != 2 {
		t.Error("no series of one kind: ", kinds)
	}
}

// TestQuantileNotes: quantile tells of histograms where there are some, not where an operator might have given them.
func TestQuantileNotes(t *testing.T) {
	s := testSeries{labels: labels.FromStrings(model.MetricNameLabel, "m")}
	for at := int64(0); at <= 600_000; at += 60_000 {
		s.histograms = append(s.histograms, promql.HPoint{T: at, H: &histogram.FloatHistogram{Count: 1, Sum: 1}})
	}
	e := newEngines(t, manySamples, false)
	for text, want := range map[string]string{
		"quantile(0.5, m)":                      "ignored histogram in quantile aggregation (1:15)",
		"quantile(0.5, histogram_avg(m))":       "",
		"quantile(NaN, quantile(NaN, m > 1))":   "got NaN (1:10)",
		"quantile(2, quantile(2, nothing > 1))": "got 2 (1:10)",
	} {
		r, query := question{text: text, start: 300_000, end: 600_000, step: time.Minute}.ask(t, e.ours, memorySource{columns: &testColumns{series: []testSeries{s}}})
		warnings, infos := r.Warnings.AsStrings(text, 0, 0)
		all := strings.Join(append(warnings, infos...), "; ")
		if want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s: %q, want %q", text, all, want)
		}
		query.Close()
	}
}

// TestOff: the library evaluates everything if it is told to.
func TestOff(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(13, 14)), 30)
	e := newEngines(t, manySamples, false)
	registry := prometheus.NewRegistry()
	off := rangeql.New(rangeql.Options{Library: e.library, MaxSamples: manySamples, Off: true, Registerer: registry})
	r, query := question{text: "sum(temperature)", start: 1800_000, instant: true}.ask(t, off, columnSource{Queryable: s})
	defer query.Close()
	if r.Err != nil || counter(t, registry, "tsdbridge_promql_queries_left_total", "evaluation over columns is off") != 1 {
		t.Error(r.Err)
	}
}

// TestShadow: the library answers as well, and a difference is counted.
func TestShadow(t *testing.T) {
	s := teststorage.New(t)
	writeRandom(t, s, rand.New(rand.NewPCG(13, 14)), 30)
	e := newEngines(t, manySamples, false)
	for answers, series := range map[string]func(labels.Labels) bool{
		"same":      func(labels.Labels) bool { return true },
		"different": func(ls labels.Labels) bool { return ls.Hash()%2 == 0 },
	} {
		registry := prometheus.NewRegistry()
		shadowed := rangeql.New(rangeql.Options{Library: e.library, MaxSamples: manySamples, Shadow: 100, Registerer: registry})
		for _, q := range []question{
			{text: "count(temperature)", start: 1800_000, instant: true},
			{text: "temperature * 2", start: 600_000, end: 1800_000, step: time.Minute},
		} {
			r, query := q.ask(t, shadowed, columnSource{Queryable: s, only: series})
			if r.Err != nil {
				t.Error(r.Err)
			}
			query.Close()
		}
		if n := counter(t, registry, "tsdbridge_promql_queries_shadowed_total", answers); n != 2 {
			t.Errorf("%v of 2 queries compared as %s", n, answers)
		}
	}
}

// counter returns a counter with one label.
func counter(t testing.TB, g prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// BenchmarkQuery evaluates typical queries of dashboards, over memory.
func BenchmarkQuery(b *testing.B) {
	s := memoryColumns(1000, 240)
	e := newEngines(b, manySamples, false)
	for _, text := range []string{"m", "rate(m[5m])", "sum by (group) (rate(m[5m]))", "avg_over_time(m[5m])"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			q := question{text: text, start: 0, end: 240 * 15_000, step: 15 * time.Second}
			for b.Loop() {
				r, query := q.ask(b, e.ours, s)
				if r.Err != nil {
					b.Fatal(r.Err)
				}
				query.Close()
			}
		})
	}
}

// memoryColumns are series of a counter.
type memorySource struct {
	promstorage.Queryable
	columns *testColumns
}

func (s memorySource) Columns(context.Context, columns.Selector) (columns.Set, error) {
	return s.columns, nil
}

func memoryColumns(series, samples int) memorySource {
	c := &testColumns{}
	for i := range series {
		s := testSeries{labels: labels.FromStrings(model.MetricNameLabel, "m", "group", fmt.Sprint(i%10), "i", fmt.Sprint(i))}
		for j := range samples {
			s.times, s.values = append(s.times, int64(j)*15_000), append(s.values, float64(i*j))
		}
		c.series = append(c.series, s)
	}
	slices.SortFunc(c.series, func(a, b testSeries) int { return cmp.Compare(a.labels.Hash(), b.labels.Hash()) })
	return memorySource{columns: c}
}
