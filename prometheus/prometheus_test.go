package prometheus

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/grafana/regexp"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestRoutes requests remote write, remote read and the query API at all their paths.
func TestRoutes(t *testing.T) {
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	reg := prometheus.NewRegistry()
	o.Store, o.Names, o.Budget = storetest.Start(t, kv.NewMem(storetest.Tables()...)).Store, names, query.NewBudget(1<<30)
	o.Origins, o.Logger, o.Registerer, o.Gatherer, o.Now = regexp.MustCompile("^https://good$"), slog.New(slog.DiscardHandler), reg, reg, time.Now
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	New(o).Routes(r)
	nothing := snappy.Encode(nil, nil)
	for _, c := range []struct {
		method, path string
		body         []byte
		status       int
		allowed      string // the origin that may read the answer
	}{
		{http.MethodPost, "/api/v1/write", nothing, http.StatusNoContent, "https://good"},
		{http.MethodPost, "/write", nothing, http.StatusNoContent, "https://good"},
		{http.MethodGet, "/write", nil, http.StatusMethodNotAllowed, "https://good"},
		{http.MethodOptions, "/api/v1/write", nil, http.StatusNoContent, "https://good"},
		{http.MethodPost, "/api/v1/read", nothing, http.StatusOK, ""},
		{http.MethodPost, "/api/v1/read", []byte("hello"), http.StatusBadRequest, ""},
		{http.MethodPost, "/read", nothing, http.StatusOK, ""},
		{http.MethodGet, "/api/v1/read", nil, http.StatusMethodNotAllowed, ""},
		{http.MethodOptions, "/api/v1/read", nil, http.StatusNoContent, "https://good"},
		{http.MethodOptions, "/read", nil, http.StatusNoContent, "https://good"},
		{http.MethodGet, "/api/v1/query?query=1", nil, http.StatusOK, "https://good"},
		{http.MethodGet, "/api/v1/no/such/path", nil, http.StatusNotFound, ""},
	} {
		req, w := httptest.NewRequestWithContext(t.Context(), c.method, c.path, bytes.NewReader(c.body)), httptest.NewRecorder()
		req.Header.Set("Origin", "https://good")
		r.ServeHTTP(w, req)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != c.status || got != c.allowed {
			t.Errorf("%s %s: %d %q %s, want %d %q", c.method, c.path, w.Code, got, w.Body, c.status, c.allowed)
		}
	}
	for header, want := range map[[2]string]int{
		{"Origin", "https://evil"}:        http.StatusForbidden,
		{"Sec-Fetch-Site", "cross-site"}:  http.StatusForbidden,
		{"Sec-Fetch-Site", "same-origin"}: http.StatusNoContent,
		{"User-Agent", "Prometheus/3.15"}: http.StatusNoContent,
	} {
		for _, path := range []string{"/api/v1/write", "/write"} {
			req, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(nothing)), httptest.NewRecorder()
			req.Header.Set(header[0], header[1])
			if r.ServeHTTP(w, req); w.Code != want {
				t.Errorf("POST %s with %v: %d %s, want %d", path, header, w.Code, w.Body, want)
			}
		}
	}
}

// TestOtherPaths asks at the paths of other servers, and at some that are none.
func TestOtherPaths(t *testing.T) {
	for asked, want := range map[string]string{
		"/api/v1/push":                             "/api/v1/write",
		"/api/prom/push":                           "/api/v1/write",
		"/api/v1/receive":                          "/api/v1/write",
		"/otlp/v1/metrics":                         "/api/v1/otlp/v1/metrics",
		"/prometheus/api/v1/query?query=1":         "/api/v1/query?query=1",
		"/prometheus/api/v1/read":                  "/api/v1/read",
		"/api/prom/api/v1/labels":                  "/api/v1/labels",
		"/prometheus/api/v1/label/U__a%2Fb/values": "/api/v1/label/U__a%2Fb/values",
		"/prometheus/api/v1":                       "/prometheus/api/v1",
		"/prometheus/-/ready":                      "/prometheus/-/ready",
		"/api/v1/push/":                            "/api/v1/push/",
		"/%61pi/v1/push":                           "/%61pi/v1/push",
		"/prometheus%2Fapi/v1/query":               "/prometheus%2Fapi/v1/query",
		"/prometheus/%61pi/v1/query":               "/prometheus/%61pi/v1/query",
		"/api/v1/query":                            "/api/v1/query",
	} {
		got := ""
		OtherPaths(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.RequestURI() })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, asked, nil))
		if got != want {
			t.Errorf("%s is served as %s, want %s", asked, got, want)
		}
	}
}
