package webport

import (
	"net/http"
	"strings"
)

// CleanPaths redirects paths with empty elements, or with those that are dots, to what they mean, as Prometheus does:
// net/http's own router has the rule.
func CleanPaths(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.EscapedPath(); strings.Contains(path, "//") || strings.Contains(path, "/.") {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
