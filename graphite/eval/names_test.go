package eval

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// longHosts returns some series whose names have long nodes.
func longHosts(count, node int) wide {
	var w wide
	for i := range count {
		name := fmt.Sprintf("servers.%06d%s", i, strings.Repeat("n", node))
		w = append(w, &series.Series{Name: name, Start: 60, End: 660, Step: 60, Values: make([]float64, 10)})
	}
	return w
}

// TestNamesAreBoundedBeforeTheyAreMade: each target would make names of gigabytes, within a budget of
// 64 MiB. It is refused before it has allocated much more than that.
func TestNamesAreBoundedBeforeTheyAreMade(t *testing.T) {
	const limit, most = 64 << 20, 400 << 20
	many := strings.Repeat
	long := many("w", 300_000)
	for name, target := range map[string]string{
		"nodes":            "aliasByNode(servers.*" + many(",1", 50_000) + ")",
		"tags":             "aliasByTags(servers.*" + many(",'name'", 50_000) + ")",
		"groups by nodes":  "groupByNodes(servers.*,'sum'" + many(",1", 50_000) + ")",
		"groups by tags":   "groupByTags(servers.*,'sum'" + many(",'a'", 50_000) + ",'name')",
		"percents by node": "asPercent(servers.*,None" + many(",1", 50_000) + ")",
		"weights":          "weightedAverage(servers.*,servers.*" + many(",1", 50_000) + ")",
		"maps":             "mapSeries(servers.*" + many(",1", 50_000) + ")",
		"a template":       "applyByNode(servers.*,1,'" + many("%", 50_000) + "')",
		"new names":        "applyByNode(servers.*,1,'%','" + many("%", 50_000) + "')",
		"values":           "template(" + many("$a", 50_000) + ",a='" + many("a", 100_000) + "')",
		"words":            "consolidateBy(servers.*,'" + long + "')",
		"reduced":          "reduceSeries(mapSeries(servers.*,1),'" + long + "',9,'x')",
		"sums of names":    "asPercent(scale(servers.*,1))",
		"long divisors":    "divideSeries(servers.*,alias(limit(servers.*,1),'" + long + "'))",
		"long totals":      "asPercent(servers.*,alias(limit(servers.*,1),'" + long + "'))",
		"lists of sums":    "sumSeriesLists(servers.*,alias(servers.*,'" + long + "'))",
		"shifted":          "timeShift(servers.*,'" + many("0", 300_000) + "1d')",
		"deep nodes":       many("aliasByNode(", 30) + "servers.*" + many(many(",0", 100)+",1)", 30),
	} {
		n, err := expr.Parser{}.Parse(target)
		if err != nil {
			t.Fatal(name, err)
		}
		source := longHosts(1000, 15_000)
		ctx := query.WithAccount(t.Context(), query.NewBudget(limit).Open())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = New().Eval(ctx, []expr.Node{n}, call.Request{From: 0, Until: 86400, Now: 86400}, source)
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc)
		if took > most || err == nil && name != "deep nodes" {
			t.Errorf("%s: %d MiB allocated, %.200v", name, took>>20, err)
		}
		t.Logf("%s: %d MiB allocated, %.120v", name, took>>20, err)
	}
}
