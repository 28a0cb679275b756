package adapter

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/go-chi/chi/v5"
)

// profileSeconds is how long a profile may run. Anyone who reaches the port can start one.
const profileSeconds = 120

// routeProfiles mounts Go's profiles: one at a time, for a limited time, since each costs the whole
// process.
func routeProfiles(r chi.Router) {
	turn := make(chan struct{}, 1)
	one := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= profileSeconds) {
				http.Error(w, fmt.Sprintf("seconds=%v: at most %d", seconds, profileSeconds), http.StatusBadRequest)
				return
			}
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				next(w, r)
			default:
				w.Header().Set("Retry-After", webRetryAfter)
				http.Error(w, "another profile is being taken", http.StatusServiceUnavailable)
			}
		}
	}
	r.HandleFunc("/debug/pprof/*", one(pprof.Index))
	r.HandleFunc("/debug/pprof/profile", one(pprof.Profile))
	r.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	r.HandleFunc("/debug/pprof/symbol", one(pprof.Symbol))
	r.HandleFunc("/debug/pprof/trace", one(pprof.Trace))
}
