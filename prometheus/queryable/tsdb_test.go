package queryable

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// tsdbExprs are evaluated over our store and over Prometheus' own storage with the same data.
var tsdbExprs = []string{
	`requests_total`,
	`requests_total offset 7m`,
	`requests_total{instance=~"a|c.*"}`,
	`requests_total @ 3600`,
	`requests_total @ end() - requests_total @ start()`,
	`{job="demo", __name__=~"temp.*|limit"}`,
	`{__name__!="", instance!~"b|c.*"}`,
	`rate(requests_total[5m])`,
	`irate(requests_total[1m])`,
	`increase(requests_total[17m])`,
	`resets(requests_total[1h])`,
	`changes(temperature[30m])`,
	`deriv(temperature[10m])`,
	`predict_linear(temperature[10m], 600)`,
	`sum by (job) (rate(requests_total[5m]))`,
	`sum without (instance) (increase(requests_total[10m:1m]))`,
	`max_over_time(rate(requests_total[2m])[30m:30s])`,
	`quantile_over_time(0.9, temperature[20m])`,
	`count by (__name__) ({__name__=~".+"})`,
	`last_over_time(temperature[20m])`,
	`present_over_time(temperature[1m])`,
	`absent(temperature{instance="a"})`,
	`absent_over_time(temperature[2m])`,
	`topk(2, temperature)`,
	`count_values("v", floor(temperature))`,
	`requests_total / ignoring(instance) group_left sum without (instance) (requests_total)`,
	`temperature > 10 and on(instance) requests_total`,
	`temperature unless temperature > 0`,
	`limit`,
	`-limit`,
	`label_replace(requests_total, "i", "$1", "instance", "(.).*")`,
	`timestamp(requests_total)`,
	`latency`,
	`latency - latency offset 1m`,
	`rate(latency[5m])`,
	`increase(latency_float[10m])`,
	`histogram_quantile(0.9, rate(latency[5m]))`,
	`histogram_quantile(0.5, sum(rate(latency_custom[5m])))`,
	`histogram_fraction(0, 2, sum by (job) (latency))`,
	`histogram_count(latency)`,
	`histogram_avg(rate(latency_float[3m]))`,
	`resets(latency[1h])`,
	`resets(latency_float[1h])`,
	`changes(latency[10m])`,
	`sum(latency)`,
	`avg(in_use)`,
	`sum_over_time(in_use[5m])`,
	`delta(in_use[5m])`,
	`rate(in_use[5m])`,
	`changing`,
	`rate(changing[5m])`,
	`count_over_time(changing[20m])`,
	`sum_over_time(latency[10m:2m])`,
	`rate(latency[10m:1m])`,
}

// TestAgainstTSDB compares the answers of both.
func TestAgainstTSDB(t *testing.T) {
	ours := newMemStorage(t)
	theirs := teststorage.New(t, func(o *tsdb.Options) { o.OutOfOrderTimeWindow = 0 })
	promtest.WriteDemo(t, ours)
	promtest.WriteDemo(t, theirs)
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
	for _, expr := range tsdbExprs {
		found := 0
		for _, at := range []int64{0, 1, 130_000, 200_000, 1457_000, 3000_000, 3001_001, promtest.DemoEnd, promtest.DemoEnd + 299_000, promtest.DemoEnd + 301_000} {
			query := func(q promstorage.Queryable) (promql.Query, error) {
				return engine.NewInstantQuery(t.Context(), q, nil, expr, time.UnixMilli(at))
			}
			found += compareQueries(t, fmt.Sprintf("%s at %d", expr, at), query, ours, theirs)
		}
		for _, step := range []time.Duration{15 * time.Second, 61 * time.Second, 20 * time.Minute} {
			query := func(q promstorage.Queryable) (promql.Query, error) {
				return engine.NewRangeQuery(t.Context(), q, nil, expr, time.UnixMilli(600_000), time.UnixMilli(promtest.DemoEnd+600_000), step)
			}
			found += compareQueries(t, fmt.Sprintf("%s every %s", expr, step), query, ours, theirs)
		}
		if found == 0 {
			t.Errorf("%s finds nothing at any time", expr)
		}
	}
}

// TestJoinedSeries asks often for series that the engine joins after it removed their names.
func TestJoinedSeries(t *testing.T) {
	ours := newMemStorage(t)
	theirs := teststorage.New(t, func(o *tsdb.Options) { o.OutOfOrderTimeWindow = 0 })
	promtest.WriteDemo(t, ours)
	promtest.WriteDemo(t, theirs)
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
	const expr = `(temperature - changing) or -temperature{instance!="c:9090"}`
	for range 20 {
		query := func(q promstorage.Queryable) (promql.Query, error) {
			return engine.NewRangeQuery(t.Context(), q, nil, expr, time.UnixMilli(600_000), time.UnixMilli(promtest.DemoEnd+600_000), 61*time.Second)
		}
		if found := compareQueries(t, expr, query, ours, theirs); found != 3 {
			t.Fatalf("%s finds %d series, want 3", expr, found)
		}
	}
}

// compareQueries compares two answers and returns the number of their series.
func compareQueries(t *testing.T, name string, query func(promstorage.Queryable) (promql.Query, error), ours, theirs promstorage.Queryable) int {
	t.Helper()
	got, gotErr := result(t, query, ours)
	want, wantErr := result(t, query, theirs)
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%s: error %v, the TSDB says %v", name, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, resultOptions()...); diff != "" {
		t.Errorf("%s: -tsdb +ours\n%.2000s", name, diff)
	}
	switch v := want.(type) {
	case promql.Vector:
		return len(v)
	case promql.Matrix:
		return len(v)
	}
	return 0
}

// result runs a query and sorts series that have no order.
func result(t *testing.T, query func(promstorage.Queryable) (promql.Query, error), s promstorage.Queryable) (parser.Value, error) {
	t.Helper()
	q, err := query(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	res := q.Exec(t.Context())
	switch v := res.Value.(type) {
	case promql.Vector:
		slices.SortFunc(v, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
	case promql.Matrix:
		slices.SortFunc(v, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	}
	return res.Value, res.Err
}

// resultOptions tolerates sums that were computed in another order. It also ignores
// Series.DropName, which tells the engine to remove a name and is of no use after that: it reaches
// no caller of the API. Where the engine joins series that differ in their names only, it takes the
// field from whichever its map returned first, so two runs over one storage differ.
func resultOptions() []cmp.Option {
	sums := []cmp.Option{cmpopts.EquateApprox(1e-12, 1e-12), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}
	return append([]cmp.Option{
		cmp.Comparer(labels.Equal),
		cmp.Comparer(func(a, b *histogram.FloatHistogram) bool {
			if a == nil || b == nil {
				return a == b
			}
			return cmp.Equal(a.Copy().Compact(0), b.Copy().Compact(0), append(sums, cmpopts.IgnoreFields(*a, "CounterResetHint"))...)
		}),
		cmpopts.IgnoreUnexported(promql.Sample{}, promql.Series{}),
		cmpopts.IgnoreFields(promql.Series{}, "DropName"),
	}, sums...)
}
