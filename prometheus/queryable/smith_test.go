package queryable

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/cortexproject/promqlsmith"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// TestRandomQueries sends promqlsmith's random queries to our engine over our store and to the
// library's engine over Prometheus' own storage.
func TestRandomQueries(t *testing.T) {
	ours := newMemStorage(t)
	theirs := teststorage.New(t, func(o *tsdb.Options) { o.OutOfOrderTimeWindow = 0 })
	promtest.WriteDemo(t, ours)
	promtest.WriteDemo(t, theirs)
	library := promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000)
	registry := prometheus.NewRegistry()
	engine := rangeql.New(rangeql.Options{Library: library, DelayedNames: true, StartTimes: true, MaxSamples: 50_000_000, Timeout: time.Minute, Registerer: registry})
	var names []labels.Labels
	for _, name := range []string{"requests_total", "temperature", "limit", "latency", "changing"} {
		for _, instance := range []string{"a", "b", "c:9090"} {
			names = append(names, labels.FromStrings("__name__", name, "instance", instance, "job", "demo"))
		}
	}
	smith := promqlsmith.New(rand.New(rand.NewSource(7)), names,
		promqlsmith.WithEnableOffset(true), promqlsmith.WithEnableAtModifier(true), promqlsmith.WithAtModifierMaxTimestamp(promtest.DemoEnd), promqlsmith.WithMaxDepth(3),
		// Aggregations whose answer depends on the order of equal series are left out.
		promqlsmith.WithEnabledAggrs([]parser.ItemType{parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP, parser.STDDEV, parser.STDVAR, parser.QUANTILE}),
	)
	queries := scale.Of(t, "random queries of promqlsmith", 300, 600, 20_000)
	found, asked := 0, 0
	for asked < queries && !t.Failed() {
		expr := smith.WalkInstantQuery().String()
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		if err != nil || parsed.Type() != parser.ValueTypeVector && parsed.Type() != parser.ValueTypeScalar {
			continue // it also generates invalid queries
		}
		asked++
		query := func(step time.Duration) func(promstorage.Queryable) (promql.Query, error) {
			return func(q promstorage.Queryable) (promql.Query, error) {
				e := promql.QueryEngine(library)
				if q == promstorage.Queryable(ours) {
					e = engine
				}
				if step == 0 {
					return e.NewInstantQuery(t.Context(), q, nil, expr, time.UnixMilli(promtest.DemoEnd/2+17))
				}
				return e.NewRangeQuery(t.Context(), q, nil, expr, time.UnixMilli(600_000), time.UnixMilli(promtest.DemoEnd+600_000), step)
			}
		}
		found += min(1, compareQueries(t, expr, query(0), ours, theirs)+compareQueries(t, fmt.Sprint(expr, " every 61 s"), query(61*time.Second), ours, theirs))
	}
	if found < queries/4 {
		t.Errorf("%d of %d queries found something", found, queries)
	}
	columns := queriesBy(t, registry, "columns")
	if columns < float64(2*asked)*0.99 {
		t.Errorf("%v of %d evaluations were over columns; the others: %v", columns, 2*asked, countsOf(t, registry, "tsdbridge_promql_queries_left_total"))
	}
	t.Logf("%d of %d queries found something, %v evaluations were from columns", found, queries, columns)
}
