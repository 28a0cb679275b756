package queryable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const windowsConfig = `{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3},"intervals":[
	{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"t10m","preAggregationTable":"pre","interval":"10m","rowSpan":"6h"},
	{"table":"t1h","preAggregationTable":"pre","interval":"1h","rowSpan":"1d"}]}`

const windowsBegin = 1356998400000

// openWindows opens a store that fills rollup tables of the metrics but "plain", with two days of points.
func openWindows(t *testing.T) (*store.Store, []storage.Ref) {
	c, err := rollup.ParseConfig([]byte(windowsConfig), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	tables := promtest.Tables()
	for _, name := range []string{"pre", "t10m", "t1h"} {
		tables = append(tables, kv.Table{Name: name, Families: []string{"t"}})
	}
	store := promtest.OpenStore(t, kv.NewMem(tables...), func(o *store.Options) {
		o.Rollups = c
		o.Now = func() time.Time { return time.UnixMilli(windowsBegin + 49*3600_000) }
		rule := job.Rule{Name: "but plain", Matches: func(s storage.Series) bool { return s.Metric != "plain" }, Delay: 10 * time.Minute, Back: 30 * 24 * time.Hour}
		rule.Intervals = []*rollup.Interval{&c.Intervals[0], &c.Intervals[1]}
		o.FillRules = []job.Rule{rule}
	})
	var all []storage.Series
	for host, metric := range []string{"gauge", "gauge", "gauge", "plain", "plain", "plain"} {
		all = append(all, storetest.Series(metric, "host", fmt.Sprint(host)))
	}
	refs, _ := store.Resolve(t.Context(), all)
	return store, refs
}

// writeWindows appends points, some of them at the ends of windows.
func writeWindows(t *testing.T, store *store.Store, rng *rand.Rand, refs []storage.Ref, n int) {
	values := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(value.StaleNaN), 5, -7}
	var b storage.Batch
	for range n {
		at := windowsBegin + rng.Int64N(48*3600_000)
		if rng.IntN(5) == 0 {
			at -= at % 600_000
		}
		v := rng.NormFloat64()
		if rng.IntN(4) == 0 {
			v = values[rng.IntN(len(values))]
		}
		b.Add(refs[rng.IntN(len(refs))], at, v)
	}
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// TestWindows: functions of ranges that rollup tables can answer are answered from these, in all bits as by the library
// from the points, late points and deletions included.
func TestWindows(t *testing.T) {
	store, refs := openWindows(t)
	rng := rand.New(rand.NewPCG(1, 2))
	writeWindows(t, store, rng, refs, 4000)
	if err := store.FillRollups(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := newPromStorage(store)
	shown.UseWindows(store)
	library := promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000)
	engine := rangeql.New(rangeql.Options{Library: library, DelayedNames: true, StartTimes: true, MaxSamples: 50_000_000, Timeout: time.Minute})
	summaries := 0
	for round := range 300 {
		switch round % 30 {
		case 10:
			writeWindows(t, store, rng, refs, 50)
		case 20:
			from := windowsBegin + rng.Int64N(40*3600_000)
			if _, err := store.Delete(t.Context(), storage.Deletion{Refs: refs[:2], Start: from, End: from + rng.Int64N(3*3600_000)}); err != nil {
				t.Fatal(err)
			}
		case 29:
			if err := store.FillRollups(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		function := []string{"min_over_time", "max_over_time", "count_over_time", "present_over_time"}[rng.IntN(4)]
		metric := []string{"gauge", `gauge{host=~"0|2"}`, `{host=~"1|2|3"}`, "plain"}[rng.IntN(4)]
		spans := []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 17 * time.Minute}
		span, step := spans[rng.IntN(len(spans))], spans[rng.IntN(len(spans))]
		expr := fmt.Sprintf("%s(%s[%s])", function, metric, span)
		switch rng.IntN(6) {
		case 0:
			expr = fmt.Sprintf("sum by (host) (%s(%s[%s] offset 1h))", function, metric, span)
		case 1:
			expr = fmt.Sprintf("max_over_time(gauge[%s]) - min_over_time(gauge[%s])", span, span)
		}
		start := time.UnixMilli(windowsBegin + rng.Int64N(24)*3600_000)
		end := start.Add(time.Duration(rng.IntN(2)) * 30 * time.Hour)
		ask := func(e promql.QueryEngine) (string, promql.Query) {
			t.Helper()
			q, err := e.NewRangeQuery(t.Context(), shown, nil, expr, start, end, step)
			if round%3 == 0 {
				q, err = e.NewInstantQuery(t.Context(), shown, nil, expr, start.Add(17*time.Hour+time.Duration(round)*time.Second))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(q.Close)
			r := q.Exec(t.Context())
			if r.Err != nil {
				t.Fatal(expr, r.Err)
			}
			return bitsOf(r.Value), q
		}
		got, q := ask(engine)
		want, _ := ask(library)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("round %d: %s from %v every %v (-library +ours)\n%s", round, expr, start.UTC(), step, d)
		}
		for _, r := range rangeql.Explain(q).Reads {
			summaries += min(1, int(r.Summaries))
		}
	}
	if summaries < 60 {
		t.Errorf("%d of 300 queries read windows", summaries)
	}
}

// bitsOf returns the text of floats with all bits, series in the order of their labels. NaNs are equal.
func bitsOf(v parser.Value) string {
	bits := func(f float64) string {
		if math.IsNaN(f) {
			return "NaN"
		}
		return fmt.Sprintf("%v(%x)", f, math.Float64bits(f))
	}
	var lines []string
	switch v := v.(type) {
	case promql.Vector:
		for _, s := range v {
			lines = append(lines, fmt.Sprint(s.Metric, " ", s.T, " ", bits(s.F)))
		}
	case promql.Matrix:
		for _, s := range v {
			for _, p := range s.Floats {
				lines = append(lines, fmt.Sprint(s.Metric, " ", p.T, " ", bits(p.F)))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
