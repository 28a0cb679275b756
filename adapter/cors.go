package adapter

import (
	"net/http"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/util/httputil"
)

// corsOrigin is the regular expression of --web.cors-origin.
func (o Options) corsOrigin() (*regexp.Regexp, error) {
	return regexp.Compile("^(?:" + o.CORSOrigin + ")$")
}

// allowOrigins lets scripts of some origins use what has no such rule of its own, and answers what a browser asks before it sends (OPTIONS).
func allowOrigins(origins *regexp.Regexp) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			httputil.SetCORS(w, origins, r)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
