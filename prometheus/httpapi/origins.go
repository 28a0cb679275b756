package httpapi

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

// RefuseForeign is middleware for handlers that change something. It refuses what a page of another origin has a
// browser send, unless scripts of that origin may use the API. Programs that are no browsers send no origin.
func RefuseForeign(origins *regexp.Regexp) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		guarded := http.NewCrossOriginProtection().Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if origin := r.Header.Get("Origin"); origin != "" && origins != nil && origins.MatchString(origin) {
				next.ServeHTTP(w, r)
				return
			}
			guarded.ServeHTTP(w, r)
		})
	}
}
