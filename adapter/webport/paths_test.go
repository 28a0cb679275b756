package webport

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Paths are redirected exactly where net/http's router does it, which is that of Prometheus; all others are served as they
// are.
func TestCleanPaths(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("served " + r.URL.EscapedPath())) })
	mux := http.NewServeMux()
	mux.Handle("/", served)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodDelete, http.MethodOptions} {
		for _, target := range []string{
			"/", "/api/v1/query?query=1", "//api/v1/query?query=1", "/api//v1/query", "/api/v1//query?a=%2F%2F", "///", "/./api", "/api/../api/v1/query", "/api/v1/query/",
			"/api/v1/label/a%2F%2Fb/values", "/api/v1/label/%2E%2E/values", "/.well-known/x", "/a/..b", "/assets/..%2f..%2fx", "//evil.com/%2e%2e",
		} {
			want, got := httptest.NewRecorder(), httptest.NewRecorder()
			mux.ServeHTTP(want, httptest.NewRequest(method, target, nil))
			CleanPaths(served).ServeHTTP(got, httptest.NewRequest(method, target, nil))
			if got.Code != want.Code || got.Header().Get("Location") != want.Header().Get("Location") || got.Body.String() != want.Body.String() {
				t.Errorf("%s %s: %d %v %q, want %d %v %q", method, target, got.Code, got.Header(), got.Body, want.Code, want.Header(), want.Body)
			}
			if location := got.Header().Get("Location"); strings.HasPrefix(location, "//") {
				t.Errorf("%s leads to another server: %s", target, location)
			}
		}
	}
}
