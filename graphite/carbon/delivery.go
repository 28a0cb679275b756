package carbon

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Sink takes points. Write returns when they are stored or are refused for good, which the Sink counts; an error means "not now",
// and that some may be stored or none. Storing them again must do no harm. The points and their names are the caller's again
// afterwards. Write is called by many goroutines at once.
type Sink interface {
	Write(ctx context.Context, points []Point) error
}

// The pauses before a write is tried again: the first, and the longest, to which they double.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// delivery hands points to the sink until it takes them. While it does not, whoever delivers waits, and does not read from its sender.
type delivery struct {
	sink     Sink
	logger   *slog.Logger
	metrics  *listenerMetrics
	stopping <-chan struct{} // closed when the process is told to stop
	lost     atomic.Int64    // points

	mu      sync.Mutex // guards waiting, and the order of what is logged about it
	waiting int        // writes that failed and have not succeeded since
}

// write returns when the sink has taken the points, or when ctx ends: then they are lost.
func (d *delivery) write(ctx context.Context, points []Point) {
	if len(points) == 0 {
		return
	}
	n := float64(len(points))
	d.metrics.held.Add(n)
	defer d.metrics.held.Sub(n)
	if !d.persist(ctx, points) {
		d.metrics.lost.Add(n)
		d.lost.Add(int64(len(points)))
		return
	}
	d.metrics.points.Add(n)
}

// persist tries until it succeeds or ctx ends.
func (d *delivery) persist(ctx context.Context, points []Point) bool {
	failed := false
	defer func() {
		if failed {
			d.recovered(ctx)
		}
	}()
	stopping := d.stopping
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, lastRetry) {
		err := d.sink.Write(ctx, points)
		if err == nil {
			return true
		}
		if !failed {
			failed = true
			d.failed(ctx, err)
		}
		d.metrics.retries.Inc()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping: // little time is left, and the store may be back already
			stopping, pause = nil, firstRetry/2
		}
		timer.Stop()
	}
	return false
}

// failed notes that one more write is waiting.
func (d *delivery) failed(ctx context.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting++; d.waiting == 1 {
		d.logger.WarnContext(ctx, "carbon points not stored, holding them and reading no more until they are", "err", err)
	}
	d.metrics.outages.Set(float64(d.waiting))
}

// recovered notes that a write is no longer waiting.
func (d *delivery) recovered(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 && ctx.Err() == nil {
		d.logger.InfoContext(ctx, "carbon points are stored again")
	}
	d.metrics.outages.Set(float64(d.waiting))
}
