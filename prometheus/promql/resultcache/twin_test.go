package resultcache_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/translate"
)

// expressions are asked again and again.
var expressions = []string{
	`requests_total`,
	`rate(requests_total[5m])`,
	`sum by (job) (rate(requests_total[3m]))`,
	`sum(rate(requests_total[5m])) / sum(rate(requests_total[5m] offset 7m))`,
	`requests_total offset 20m`,
	`avg_over_time(temperature[2m] offset -4m)`,
	`temperature offset -30m`,
	`max_over_time(sum by (instance) (rate(requests_total[2m]))[10m:1m])`,
	`max_over_time(rate(temperature[2m])[10m:37s] offset 3m)`,
	`topk(2, temperature)`,
	`quantile(0.9, temperature)`,
	`temperature > 10 and on (instance) requests_total`,
	`temperature or requests_total`,
	`temperature unless limit`,
	`temperature * on (instance) group_left limit`,
	`{__name__=~"temp.*|limit"}`,
	`sum by (__name__) ({job="demo"})`,
	`rate({__name__=~"temp.*|limit"}[5m])`,
	`sum(last_over_time({job="demo"}[5m]))`,
	`-temperature`,
	`-{job="demo", __name__=~"temp.*|limit"}`,
	`abs({job="demo", __name__=~"temp.*|limit"} - 3)`,
	`label_replace(temperature, "i", "$1", "instance", "(.).*")`,
	`sum by (i) (label_replace(temperature, "i", "$1", "instance", ".*(.)"))`,
	`label_replace(temperature, "instance", "same", "instance", "a|b")`,
	`rate(label_replace(temperature, "instance", "same", "instance", "a|b")[5m:1m])`,
	`absent(limit{instance="b"})`,
	`absent_over_time(limit[2m])`,
	`count_values("v", floor(temperature / 20))`,
	`time() - timestamp(limit)`,
	`vector(time())`,
	`scalar(limit{instance="a"}) + temperature`,
	`predict_linear(temperature[10m], 600)`,
	`changes(limit[1h]) + resets(temperature[20m])`,
	`limit_ratio(0.5, temperature)`,
	`limitk(1, temperature) by (job)`,
	`increase(temperature[10m] anchored)`,
	`rate(temperature[10m] smoothed)`,
	`temperature smoothed`,
	`temperature @ end()`,
	`temperature - temperature @ start()`,
	`sum(temperature @ 1767225600)`,
	`end() - time() + 0 * limit`,
	`info(temperature)`,
	`count(latency)`,
	`histogram_quantile(0.9, rate(latency[5m]))`,
	`latency`,
	`histogram_quantile(0.9, sum by (instance, le) (rate(demo_bucket[2m])))`,
	`histogram_quantile(0.5, rate(demo_bucket[5m])) + on (instance) group_left histogram_quantile(0.9, sum by (instance, le) (demo_bucket))`,
	`histogram_quantile(0.9, demo_bucket)`,
	`histogram_quantile(0.9, sum by (le) (rate(demo_bucket{instance="a"}[2m])))`,
	`histogram_quantile(1 + 0 * scalar(limit{instance="a"}), demo_bucket)`,
	`histogram_quantile(0.5, {__name__=~"demo_bucket|temperature"})`,
	`max_over_time(histogram_quantile(0.9, demo_bucket)[5m:1m])`,
	`histogram_fraction(0, 1, demo_bucket)`,
	`quantile(scalar(limit{instance="a"}) / 50, temperature)`,
	`rate(temperature[1m]) / rate(temperature[5m])`,
	`sort(temperature)`,
	`sort_desc(sum by (instance) (temperature))`,
	`quantile_over_time(2, temperature[2m])`,
	`quantile_over_time(2, latency[2m])`,
	`rate(temperature[1m]) + rate( temperature[1m])`,
	`histogram_quantile(2, demo_bucket) - histogram_quantile(2, demo_bucket)`,
	`histogram_quantiles(demo_bucket, "q", 0.5, 0.9)`,
	`histogram_count(rate(latency[5m]))`,
	`min(latency)`,
	`temperature + on (instance) latency`,
	`stddev by (job) (temperature) + ignoring (x) avg by (job) (limit)`,
	`sum by (job) (temperature - on (instance) limit)`,
	`42`,
}

// twins are an engine that keeps answers and one that does not, over one store.
type twins struct {
	t        *testing.T
	random   *rand.Rand
	store    *store.Store
	shown    *queryable.Store
	keeping  *queryable.Store // keeps what selectors found
	names    *translate.Translator
	cached   promql.QueryEngine
	plain    promql.QueryEngine
	registry *prometheus.Registry
	budget   *query.Budget

	now    *atomic.Int64 // milliseconds
	series []labels.Labels
	refs   []storage.Ref
	asked  []request
}

// A request is a dashboard's panel.
type request struct {
	text       string
	step       int64 // seconds
	steps      int64
	aligned    bool
	start, end int64 // of the last time
}

const begin = 1_767_225_600_000

func newTwins(t *testing.T, random *rand.Rand, now *atomic.Int64, store *store.Store) *twins {
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &twins{t: t, random: random, names: names, store: store, now: now, registry: prometheus.NewRegistry(), budget: query.NewBudget(8 << 20)}
	w.shown = queryable.New(w.store, names, queryable.Limits{})
	w.keeping = queryable.New(w.store, names, queryable.Limits{})
	w.keeping.Keep(w.store.Catalog(), w.budget, 1<<18)
	promql := parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableExtendedRangeSelectors: true, ExperimentalDurationExpr: true})
	w.plain = newEngine(promql)
	w.cached = resultcache.New(resultcache.Options{
		Engine: newEngine(promql), Parser: promql, Store: w.store, MaxBytes: 1 << 20, Budget: w.budget,
		Lookback: 5 * time.Minute, DefaultStep: time.Minute, MetricName: names.FromMetric,
		Format:   resultcache.Format{Labels: appendLabels, Time: appendTime, Value: appendValue},
		NoMemory: func(_ context.Context, err error) error { return err },
		Now:      func() time.Time { return time.UnixMilli(w.now.Load()) }, Registerer: w.registry,
	})
	for _, name := range []string{"requests_total", "temperature", "limit", "latency"} {
		for _, instance := range []string{"a", "b", "c", "d:9090"} {
			w.register(labels.FromStrings("__name__", name, "instance", instance, "job", "demo"))
		}
	}
	for _, instance := range []string{"a", "b"} {
		for _, le := range []string{"1", "2", "+Inf"} {
			w.register(labels.FromStrings("__name__", "demo_bucket", "instance", instance, "job", "demo", "le", le))
		}
	}
	for _, i := range random.Perm(len(expressions))[:12] {
		w.asked = append(w.asked, request{text: expressions[i], step: 15 + random.Int64N(3)*15, steps: 20 + random.Int64N(100), aligned: random.IntN(3) > 0})
	}
	return w
}

func newEngine(p parser.Parser) promql.QueryEngine {
	library := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }, EnableAtModifier: true, EnableNegativeOffset: true,
	})
	return rangeql.New(rangeql.Options{Library: library, MaxSamples: 50_000_000, DefaultStep: time.Minute, Timeout: time.Minute})
}

func (w *twins) register(ls labels.Labels) {
	w.t.Helper()
	refs, errs := w.store.Resolve(w.t.Context(), []storage.Series{w.names.FromLabels(ls)})
	if errs != nil {
		w.t.Fatal(errs)
	}
	w.series, w.refs = append(w.series, ls), append(w.refs, refs[0])
}

// append appends one sample of a series.
func (w *twins) append(b *storage.Batch, i int, t int64) {
	name := w.series[i].Get("__name__")
	v := float64(w.random.IntN(1000)) / 10
	switch {
	case name == "latency" && w.random.IntN(4) > 0:
		h := &histogram.Histogram{Count: 5, ZeroThreshold: 0.001, Sum: v, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{5}}
		b.AddObject(w.refs[i], t, storage.KindHistogram, histogramcodec.EncodeHistogram(h))
		return
	case name == "demo_bucket": // not always monotonic over the buckets
		v = float64(t-begin)/10 + v*float64(w.random.IntN(5)/4)
	case name == "requests_total":
		v = float64(t-begin) / 100
	case w.random.IntN(15) == 0:
		v = []float64{math.NaN(), math.Float64frombits(value.StaleNaN)}[w.random.IntN(2)]
	}
	b.Add(w.refs[i], t, v)
}

func (w *twins) send(b *storage.Batch) {
	w.t.Helper()
	if err := w.store.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// change changes something.
func (w *twins) change() {
	r, b := w.random, &storage.Batch{}
	switch n := r.IntN(100); {
	case n < 85: // a scrape, of most series
		w.now.Add(1000 + r.Int64N(20_000))
		for i := range w.series {
			if r.IntN(10) > 0 {
				w.append(b, i, w.now.Load()-r.Int64N(3000))
			}
		}
	case n < 90: // late points, or corrections
		for range 1 + r.IntN(3) {
			w.append(b, r.IntN(len(w.series)), w.now.Load()-r.Int64N(5400_000))
		}
	case n < 92: // points of a time to come
		w.append(b, r.IntN(len(w.series)), w.now.Load()+r.Int64N(600_000))
	case n < 94:
		from := w.now.Load() - r.Int64N(5400_000)
		w.delete(storage.Deletion{Refs: w.refs[:1+r.IntN(len(w.refs))], Start: from, End: from + r.Int64N(1200_000)})
	case n < 95:
		i := r.IntN(len(w.refs))
		w.delete(storage.Deletion{Refs: w.refs[i : i+1], Whole: true})
	case n < 97:
		if err := w.store.DeleteByRules(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	case n < 99 && len(w.series) < 40:
		w.register(labels.FromStrings("__name__", []string{"temperature", "limit"}[r.IntN(2)], "instance", fmt.Sprint("new", len(w.series)), "job", "demo"))
	default: // a query finds no memory
		a := w.budget.Open()
		_ = a.Take(7 << 20)
		a.Close()
	}
	w.send(b)
}

func (w *twins) delete(d storage.Deletion) {
	w.t.Helper()
	if _, err := w.store.Delete(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

// ask asks both what somebody has asked before, and compares the answers.
func (w *twins) ask() {
	r := w.random
	q := &w.asked[r.IntN(len(w.asked))]
	switch n := r.IntN(20); {
	case n == 0 && q.end > 0: // the same again
	case n == 1 && q.end > 0: // less
		q.start, q.end = q.start+q.step*r.Int64N(5), q.end-q.step*r.Int64N(5)
	case n == 2:
		q.steps = 20 + r.Int64N(100)
		fallthrough
	default:
		q.end = w.now.Load()/1000 + r.Int64N(2)*q.step
		if q.aligned {
			q.end -= q.end % q.step
		}
		q.start = q.end - q.steps*q.step
	}
	got, want := w.run(w.cached, q), w.run(w.plain, q)
	if got != want {
		w.t.Errorf("%s from %d to %d each %d s: the answer is\n%.3000s\nwithout what was kept\n%.3000s", q.text, q.start, q.end, q.step, got, want)
	}
}

// run returns an answer as text, with all bits.
func (w *twins) run(e promql.QueryEngine, q *request) string {
	w.t.Helper()
	account := w.budget.Open()
	defer account.Close()
	ctx := query.WithAccount(w.t.Context(), account)
	shown := w.shown
	if e == w.cached {
		shown = w.keeping
	}
	evaluated, err := e.NewRangeQuery(ctx, shown, nil, q.text, time.Unix(q.start, 0), time.Unix(q.end, 0), time.Duration(q.step)*time.Second)
	if err != nil {
		w.t.Fatalf("%s: %v", q.text, err)
	}
	defer evaluated.Close()
	result := evaluated.Exec(ctx)
	if result.Err != nil {
		return "error: " + result.Err.Error()
	}
	text := ""
	switch v := result.Value.(type) {
	case *resultcache.Answer:
		for i := range v.Len() {
			if points := v.AppendPoints(nil, i); len(points) > 0 {
				text += string(v.Head(i)) + string(points) + "\n"
			}
		}
	case promql.Matrix:
		for _, s := range v {
			points := []byte(s.Metric.String())
			for _, p := range s.Floats {
				points = appendValue(appendTime(points, p.T), p.F)
			}
			for _, p := range s.Histograms {
				points = fmt.Appendf(points, " %d=%s", p.T/1000, p.H)
			}
			text += string(points) + "\n"
		}
	}
	warnings, infos := result.Warnings.AsStrings(q.text, 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	return text + strings.Join(slices.Concat(warnings, infos), "\n")
}

func appendLabels(b []byte, ls labels.Labels) []byte { return append(b, ls.String()...) }

func appendTime(b []byte, ms int64) []byte { return fmt.Appendf(b, " %d=", ms/1000) }

func appendValue(b []byte, v float64) []byte {
	bits := math.Float64bits(v)
	if math.IsNaN(v) {
		bits = 0x7ff8000000000001 // payloads are nobody's
	}
	return fmt.Appendf(b, "%x", bits)
}

// TestTwins: under random writes, late points, corrections and deletions the answers are those of an
// engine that keeps nothing.
func TestTwins(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random histories beside queries whose answers are kept", 3, 8, 400) {
		var now atomic.Int64
		options := func(o *store.Options) {
			o.Now = func() time.Time { return time.UnixMilli(now.Load()) }
			o.RetentionRules = []retention.Rule{{Name: "short", Age: store.MinRetention, Matches: func(s storage.Series) bool { return s.Metric == "limit" }}}
		}
		for name, open := range map[string]func(testing.TB) *store.Store{
			"through": func(t testing.TB) *store.Store {
				return storetest.Start(t, kv.NewMem(storetest.Tables()...), options).Store
			},
			"buffered": func(t testing.TB) *store.Store {
				return storetest.StartBuffered(t, kv.NewMem(storetest.Tables()...), logtest.New(seed), options).Store
			},
		} {
			t.Run(fmt.Sprint(name, " seed ", seed), func(t *testing.T) {
				now.Store(begin)
				w := newTwins(t, rand.New(rand.NewPCG(seed, 13)), &now, open(t))
				for range 300 {
					w.change()
					w.ask()
					w.ask()
					if t.Failed() {
						return
					}
				}
				w.mustHaveKept()
			})
		}
	}
}

// mustHaveKept fails if few answers were kept: then the test shows nothing.
func (w *twins) mustHaveKept() {
	w.t.Helper()
	all := 0.0
	for _, answer := range []string{"extended", "kept", "new", "not_kept"} {
		w.t.Logf("%s: %v answers", answer, w.count(answer))
		all += w.count(answer)
	}
	if w.count("extended") < all/20 || w.count("kept") < all/100 || w.count("new") == 0 {
		w.t.Error("few answers were kept")
	}
}

// count returns how many answers were kept or not in a way.
func (w *twins) count(answer string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tsdbridge_query_cache_requests_total" && m.GetLabel()[0].GetValue() == answer {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
