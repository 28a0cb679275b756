package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// readyTimeout bounds one look at the engine; readyAge is how long a good outcome counts, so that many probes ask once.
const (
	readyTimeout = 5 * time.Second
	readyAge     = time.Second
)

// statusHandler answers what operators and orchestrators ask.
type statusHandler struct {
	ready   func(context.Context) error
	verbose func(io.Writer) // says how the parts are
	engine  string          // who is asked, for people
	started time.Time

	mu       sync.Mutex // guards wasReady; held while the engine is asked
	wasReady time.Time
}

func (h *statusHandler) healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "tsdbridge is healthy.\n")
}

func (h *statusHandler) isReady(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r.Context()); err != nil {
		http.Error(w, "tsdbridge is not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "tsdbridge is ready.\n")
	if r.URL.Query().Has("verbose") {
		h.verbose(w)
	}
}

func (h *statusHandler) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wasReady.IsZero() && time.Since(h.wasReady) < readyAge {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	err := h.ready(ctx)
	switch {
	case err == nil:
		h.wasReady = time.Now()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %s does not answer within %v", err, h.engine, readyTimeout)
	}
	return err
}

// index tells somebody with a browser what this is.
func (h *statusHandler) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, `tsdbridge %s, up since %s

POST /api/v1/write        Prometheus remote write 1.0 and 2.0
POST /api/v1/read         Prometheus remote read
     /api/v1/query, ...   Prometheus query API
     /render, /metrics/find, /tags, ...   Graphite
     /api/v1/status/trees trees
     /-/healthy /-/ready  health (?verbose)
     /metrics             own metrics
     /debug/pprof/        profiles of this process
`, Version(), h.started.UTC().Format(time.RFC3339))
}
