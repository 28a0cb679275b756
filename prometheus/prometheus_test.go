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

	"github.com/tsdbridge/tsdbridge/budget"
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
	o.Store, o.Names, o.Budget = storetest.Start(t, kv.NewMem(storetest.Tables()...)).Store, names, budget.New(1<<30)
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
