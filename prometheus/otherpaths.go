package prometheus

import (
	"net/http"
	"net/url"
	"strings"
)

// OtherPaths serves what is asked for at the paths of Mimir, Cortex and Thanos as if it were asked for at those of
// Prometheus. Their clients need another host alone.
func OtherPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, asPrometheus(r))
	})
}

// asPrometheus returns the request for the path of Prometheus, if it is for one of another server.
func asPrometheus(r *http.Request) *http.Request {
	// as it was sent: %2F in a label's name is no end of it
	escaped := prometheusPath(r.URL.EscapedPath())
	if escaped == "" {
		return r
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return r
	}
	other, u := *r, *r.URL
	u.Path, u.RawPath = path, ""
	if path != escaped {
		u.RawPath = escaped
	}
	other.URL = &u
	return &other
}

// prometheusPath returns the path of Prometheus for one of another server; empty: it is none.
func prometheusPath(path string) string {
	switch path {
	case "/api/v1/push", // Mimir and Cortex
		"/api/prom/push",  // Cortex
		"/api/v1/receive": // Thanos Receive
		return APIPrefix + writePath
	case "/otlp/v1/metrics": // Mimir
		return APIPrefix + otlpPath
	}
	// Mimir and Cortex, Cortex
	for _, prefix := range []string{"/prometheus", "/api/prom"} {
		if below, ok := strings.CutPrefix(path, prefix); ok && strings.HasPrefix(below, APIPrefix+"/") {
			return below
		}
	}
	return ""
}
