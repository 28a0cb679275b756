package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
)

func TestQueryURL(t *testing.T) {
	if got, want := QueryURL("http://a/b/", "promql", "up > 1"), "http://a/b/#/explore?l0=promql&q0=up+%3E+1&v0=table"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Links of Prometheus to a query lead to the page.
func TestGraphLinks(t *testing.T) {
	r := chi.NewRouter()
	Page{}.Routes(r)
	for path, want := range map[string]string{
		"/graph": "./#/explore?l0=promql&q0=",
		"/graph?g0.expr=up%7Ba%3D%22b%22%7D&g0.tab=1":      "./#/explore?l0=promql&q0=up%7Ba%3D%22b%22%7D&v0=table",
		"/graph?g0.expr=up&g0.tab=graph&g0.range_input=2h": "./#/explore?from=now-2h&l0=promql&q0=up&to=now",
	} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := w.Header().Get("Location"); w.Code != http.StatusFound || got != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, got, want)
		}
	}
}
