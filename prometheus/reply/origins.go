package reply

import (
	"net/http"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/util/httputil"
)

// AllowOrigins is middleware for handlers that have no rule for scripts of other origins. It also
// answers the preflight request of a browser (OPTIONS).
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
