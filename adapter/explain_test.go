package adapter

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Queries of all languages are explained in one shape: a tree with results, and what was read.
func TestExplain(t *testing.T) {
	a, stop := runAdapter(t, storeTestOptions(t, write.Through))
	defer stop()
	base := "http://" + a.Addr()
	refs, errs := a.store.Resolve(t.Context(), []storage.Series{
		{Metric: "one", Tags: []storage.Tag{{Key: "host", Value: "a"}}}, {Metric: "one", Tags: []storage.Tag{{Key: "host", Value: "b"}}},
	})
	if errs != nil {
		t.Fatal(errs)
	}
	var batch storage.Batch
	batch.Add(refs[0], 1_600_000_000_000, 1)
	batch.Add(refs[1], 1_600_000_060_000, 2)
	if err := a.store.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, language, operator, leaf string }{
		{"lang=promql&query=sum(one)&start=1599999900&end=1600000200&step=60", "promql", "aggregation", "selector"},
		{"query=sum(one)&start=1599999900&end=1600000200&step=60", "promql", "aggregation", "selector"},
		{"lang=graphite&target=sumSeries(seriesByTag('name=one'))&from=1599999900&until=1600000200", "graphite", "sumSeries", "series"},
		{"lang=opentsdb&m=sum:one&start=1599999900&end=1600000200", "opentsdb", "query", "find series"},
		{"lang=opentsdb&m=sum:one&m=max:1m-avg:one{host=*}&start=1599999900&end=1600000200", "opentsdb", "queries", "query"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			values, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			address := base + explainPath + "?lang=" + values.Get("lang")
			if method == http.MethodGet {
				address, values = base+explainPath+"?"+values.Encode(), nil
			}
			status, body := promtest.Do(t, method, address, values)
			var x struct{ Data query.Explanation }
			if err := json.Unmarshal([]byte(body), &x); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.query, status, body)
			}
			e := x.Data
			if e.Language != c.language || e.Plan == nil || e.Plan.Operator != c.operator || e.Plan.NotDone || len(e.Plan.Inputs) == 0 || e.Plan.Inputs[0].Operator != c.leaf {
				t.Errorf("%s: %s", c.query, body)
			}
			if e.Rows < 2 || e.Bytes == 0 || len(e.Ways) == 0 || e.Series < 1 || e.Samples < 2 || len(e.Reads) == 0 || e.Reads[0].Rows < 2 || e.Reads[0].Samples < 2 || e.Reads[0].Series != 2 {
				t.Errorf("%s: %s", c.query, body)
			}
		}
	}
	for _, c := range []struct {
		query  string
		status int
		want   string
	}{
		{"lang=sql", http.StatusBadRequest, "is no language of queries"},
		{"lang=graphite", http.StatusBadRequest, "needs one"},
		{"lang=graphite&target=nothing(a.b)", http.StatusBadRequest, "unknown function"},
		{"lang=opentsdb&m=sum:none&start=1", http.StatusBadRequest, "none"},
		{"lang=opentsdb&m=sum:none", http.StatusBadRequest, "start"},
		{"lang=opentsdb&m=x&start=1", http.StatusBadRequest, ""},
	} {
		status, body := promtest.Do(t, http.MethodGet, base+explainPath+"?"+c.query, nil)
		if status != c.status || !strings.Contains(body, c.want) || !strings.Contains(body, `"errorType":"bad_data"`) {
			t.Errorf("%s: %d %s", c.query, status, body)
		}
	}
	if status, _ := promtest.Do(t, http.MethodDelete, base+explainPath+"?lang=graphite", nil); status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", status)
	}
}
