package queryable

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// builtinEvals is how many evaluations the module's suite makes; each is a subtest that must pass.
const builtinEvals = 2243

func TestPromQL(t *testing.T) {
	exprs, err := promqltest.GetBuiltInExprs()
	if err != nil {
		t.Fatal(err)
	}
	if len(exprs) != builtinEvals {
		t.Errorf("the suite has %d evaluations, want %d", len(exprs), builtinEvals)
	}
	library := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
	registry := prometheus.NewRegistry()
	engine := rangeql.New(rangeql.Options{
		Library: library, DelayedNames: true, StartTimes: true, MaxSamples: promqltest.DefaultMaxSamplesPerQuery, Registerer: registry,
	})
	for name, open := range promtest.Engines() {
		t.Run(name, func(t *testing.T) {
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) promstorage.Storage {
				return newPromStorage(promtest.OpenStore(t, open(t)))
			})
		})
	}
	// Through log and head: with all of it in memory, and with flushes during reads.
	for name, delay := range map[string]time.Duration{"head": 1 << 60, "head and table": 0} {
		t.Run(name, func(t *testing.T) {
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) promstorage.Storage {
				return newPromStorage(promtest.OpenStore(t, kv.NewMem(promtest.Tables()...), func(o *store.Options) {
					o.Mode = write.Buffered
					o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes = "log", logtest.New(1), 64<<10
					o.Buffer.FlushDelay, o.Buffer.FlushInterval, o.Buffer.CheckInterval = delay, 1<<60, time.Millisecond
				}))
			})
		})
	}
	left := 0.0
	for why, n := range countsOf(t, registry, "tsdbridge_promql_queries_left_total") {
		t.Logf("%v queries were left to the library: %s", n, why)
		left += n
	}
	if all := left + queriesBy(t, registry, "columns"); left > all/100 {
		t.Errorf("%v of %v queries were left to the library", left, all)
	}
}

// queriesBy counts the queries that were answered in one of the ways of rangeql.
func queriesBy(t testing.TB, g prometheus.Gatherer, path string) float64 {
	t.Helper()
	return countsOf(t, g, "tsdbridge_promql_queries_total")[path]
}

// countsOf returns the counters of a family by their only label.
func countsOf(t testing.TB, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return counts
}
