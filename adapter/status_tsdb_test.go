package adapter

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/storage"
)

// doorAdapter starts an adapter in memory with some series, and returns a function that sends it
// requests.
func doorAdapter(t *testing.T) func(method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	o := DefaultOptions()
	o.Engine, o.CORSOrigin, o.LogPath, o.Path = tables.EngineMemory, "https://good", t.TempDir(), t.TempDir()
	a, _ := runAdapter(t, o)
	one := func(metric string, tags ...string) storage.Series {
		s := storage.Series{Metric: metric}
		for i := 0; i < len(tags); i += 2 {
			s.Tags = append(s.Tags, storage.Tag{Key: tags[i], Value: tags[i+1]})
		}
		return s
	}
	refs, errs := a.store.Resolve(t.Context(), []storage.Series{
		one("up", "job", "a"), one("up", "job", "b"), one("up", "dc", "x", "job", "c"), one("load", "job", "a"),
	})
	if errs != nil {
		t.Fatal(errs)
	}
	var b storage.Batch
	for _, ref := range refs {
		b.Add(ref, 1356998400000, 1)
	}
	if err := a.store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return func(method, path string, header ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, path, http.NoBody), httptest.NewRecorder()
		r.Host = "localhost:9201"
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		a.server.Handler.ServeHTTP(w, r)
		return w
	}
}

// TestTSDBStatus: the figures are real, in Prometheus' form.
func TestTSDBStatus(t *testing.T) {
	ask := doorAdapter(t)
	w := ask(http.MethodGet, "/api/v1/status/tsdb?limit=2")
	var got struct{ Data v1.TSDBStatus }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if len(got.Data.MemoryInBytesByLabelName) != 2 || got.Data.MemoryInBytesByLabelName[0].Name != "job" || got.Data.MemoryInBytesByLabelName[0].Value == 0 {
		t.Errorf("memory by label: %v", got.Data.MemoryInBytesByLabelName)
	}
	got.Data.MemoryInBytesByLabelName = nil // the memory of a label is not fixed
	want := v1.TSDBStatus{
		HeadStats:                   v1.HeadStats{NumSeries: 4, NumLabelPairs: 6, MinTime: 1356998400000, MaxTime: 1356998400000 + 86400_000 - 1},
		SeriesCountByMetricName:     []v1.TSDBStat{{Name: "up", Value: 3}, {Name: "load", Value: 1}},
		LabelValueCountByLabelName:  []v1.TSDBStat{{Name: "job", Value: 3}, {Name: "__name__", Value: 2}},
		SeriesCountByLabelValuePair: []v1.TSDBStat{{Name: "__name__=up", Value: 3}, {Name: "job=a", Value: 2}},
	}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?limit=10001"} {
		if w := ask(http.MethodGet, "/api/v1/status/tsdb"+query); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// TestMethods: OPTIONS of browsers, and methods that a path does not have.
func TestMethods(t *testing.T) {
	ask := doorAdapter(t)
	for _, path := range []string{"/render", "/metrics/find", "/tags", "/functions", "/metrics", "/metrics?query=*", "/api/v1/write", "/write", "/api/v1/query", "/api/v1/status/tsdb"} {
		w := ask(http.MethodOptions, path, "Origin", "https://good", "Access-Control-Request-Method", "POST")
		if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "https://good" || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("OPTIONS %s: %d %v", path, w.Code, w.Header())
		}
		if w := ask(http.MethodOptions, path, "Origin", "https://bad"); w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("OPTIONS %s for another origin: %v", path, w.Header())
		}
	}
	if w := ask(http.MethodGet, "/render?target=up&format=json", "Origin", "https://good"); len(w.Header().Values("Access-Control-Allow-Origin")) != 1 {
		t.Errorf("render for a script: %v", w.Header())
	}
	if w := ask(http.MethodGet, "/api/v1/query?query=up", "Origin", "https://good"); len(w.Header().Values("Access-Control-Allow-Origin")) != 1 {
		t.Errorf("query for a script: %v", w.Header())
	}
	for _, path := range []string{"/metrics?query=*", "/metrics", "/tags", "/api/v1/status/tsdb"} {
		if w := ask(http.MethodDelete, path); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
			t.Errorf("DELETE %s: %d %q", path, w.Code, w.Body)
		}
	}
	// No answer names a flag that does not exist.
	for _, path := range []string{"/api/v1/admin/tsdb/delete_series", "/api/v1/admin/tsdb/snapshot"} {
		if w := ask(http.MethodPost, path); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "otlp-receiver") {
			t.Errorf("POST %s: %d %s", path, w.Code, w.Body)
		}
	}
}
