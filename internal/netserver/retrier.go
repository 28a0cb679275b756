package netserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The pauses before a write is tried again: the first one, doubled up to the longest.
const (
	FirstRetry = 100 * time.Millisecond
	LastRetry  = 10 * time.Second
)

// A Retrier tries writes until the store takes them. Meanwhile the caller waits and does not read
// from its sender. An outage is logged once for all callers.
type Retrier struct {
	What     string // the protocol of the points, for people
	Logger   *slog.Logger
	Stopping <-chan struct{}    // closed when the process is told to stop; nil: never
	Retries  prometheus.Counter // of tries that failed
	Waiting  prometheus.Gauge   // of writes that failed and have not succeeded since

	mu      sync.Mutex // guards waiting, and the order of what is logged about it
	waiting int
}

// Retry tries until it succeeds or ctx ends.
func (r *Retrier) Retry(ctx context.Context, try func() error) bool {
	failed := false
	defer func() {
		if failed {
			r.recovered(ctx)
		}
	}()
	stopping := r.Stopping
	for pause := FirstRetry; ctx.Err() == nil; pause = min(2*pause, LastRetry) {
		err := try()
		if err == nil {
			return true
		}
		if !failed {
			failed = true
			r.failed(ctx, err)
		}
		r.Retries.Inc()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping: // little time is left, and the store may be back already
			stopping, pause = nil, FirstRetry/2
		}
		timer.Stop()
	}
	return false
}

// failed notes that one more write is waiting.
func (r *Retrier) failed(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting++; r.waiting == 1 {
		r.Logger.WarnContext(ctx, r.What+" points not stored, holding them and reading no more until they are; see TsdbridgePointsFailed in docs/monitoring.md", "err", err)
	}
	r.Waiting.Set(float64(r.waiting))
}

// recovered notes that a write is no longer waiting.
func (r *Retrier) recovered(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting--; r.waiting == 0 && ctx.Err() == nil {
		r.Logger.InfoContext(ctx, r.What+" points are stored again")
	}
	r.Waiting.Set(float64(r.waiting))
}
