package query

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Queries are counted by their language, while they run and when they end.
func TestMeasure(t *testing.T) {
	r, reg := NewRegistry(), prometheus.NewRegistry()
	r.Measure(reg, "promql", "remote read")
	_, q := r.Begin(t.Context(), Description{Language: "remote read"})
	inFlight := func(n string) string {
		return "# HELP tsdbridge_queries_in_flight Queries that are being answered or wait for their turn, by language.\n" +
			"# TYPE tsdbridge_queries_in_flight gauge\n" +
			`tsdbridge_queries_in_flight{language="promql"} 0` + "\n" + `tsdbridge_queries_in_flight{language="remote_read"} ` + n + "\n"
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(inFlight("1")), "tsdbridge_queries_in_flight"); err != nil {
		t.Error(err)
	}
	q.End()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(inFlight("0")), "tsdbridge_queries_in_flight"); err != nil {
		t.Error(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tsdbridge_query_duration_seconds" {
				counts[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	if counts["remote_read"] != 1 || counts["promql"] != 0 {
		t.Errorf("durations: %v", counts)
	}
}
