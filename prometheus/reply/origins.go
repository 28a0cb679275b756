package reply

import (
	"net/http"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/util/httputil"
)

// AllowOrigins is middleware for handlers without a rule of their own for scripts of other origins. It answers what a browser asks before it
// sends (OPTIONS).
func AllowOrigins(origins *regexp.Regexp) func(http.Handler) http.Handler {
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
