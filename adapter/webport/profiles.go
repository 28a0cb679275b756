package webport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
)

// profileSeconds is how long a profile may run. Anyone who reaches the port can start one.
const profileSeconds = 120

// RouteProfiles mounts Go's profiles: one at a time, for a limited time, since each costs the whole
// process. commandLine returns that of the process, as it may be shown.
func RouteProfiles(r chi.Router, commandLine func() []string) {
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
				w.Header().Set("Retry-After", retryAfter)
				http.Error(w, "another profile is being taken", http.StatusServiceUnavailable)
			}
		}
	}
	r.Get("/debug/pprof/*", one(pprof.Index))
	r.Get("/debug/pprof/profile", one(pprof.Profile))
	r.Get("/debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.Join(commandLine(), "\x00"))
	})
	r.Get("/debug/pprof/symbol", one(pprof.Symbol))
	r.Post("/debug/pprof/symbol", one(pprof.Symbol))
	r.Get("/debug/pprof/trace", one(pprof.Trace))
}
