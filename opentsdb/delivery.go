package opentsdb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// The pauses before a write is tried again: the first, and the longest, to which they double.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// delivery hands what telnet sent to the store until it takes it. A TSD answers such a line with an error, and most senders do not listen;
// here whoever delivers waits meanwhile, and does not read from its sender.
type delivery struct {
	logger   *slog.Logger
	metrics  *listenerMetrics
	stopping <-chan struct{} // closed when the process is told to stop
	lost     atomic.Int64    // points

	mu      sync.Mutex // guards waiting, and the order of what is logged about it
	waiting int        // writes that failed and have not succeeded since
}

// write returns when the points of a job are durable, or refused, or when ctx ends: then they are lost.
func (d *delivery) write(ctx context.Context, j *job, refuse func(origin int, err error)) {
	n := float64(len(j.batch.Refs))
	d.metrics.held.Add(n)
	defer d.metrics.held.Sub(n)
	var refusal error
	ok := d.persist(ctx, func() error { return j.resolve(ctx, refuse) }) && d.persist(ctx, func() error {
		err := j.append(ctx)
		if err != nil && isRefusal(err) {
			refusal, err = err, nil
		}
		return err
	})
	switch {
	case !ok:
		d.lost.Add(int64(len(j.batch.Refs)))
		j.count(errLost)
	case refusal != nil:
		refuse(-1, refusal)
		j.count(refusal)
	default:
		j.count(nil)
	}
}

var errLost = errors.New("lost")

// persist tries until it succeeds or ctx ends.
func (d *delivery) persist(ctx context.Context, try func() error) bool {
	failed := false
	defer func() {
		if failed {
			d.recovered(ctx)
		}
	}()
	stopping := d.stopping
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, lastRetry) {
		err := try()
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
		d.logger.WarnContext(ctx, "telnet points not stored, holding them and reading no more until they are", "err", err)
	}
	d.metrics.outages.Set(float64(d.waiting))
}

// recovered notes that a write is no longer waiting.
func (d *delivery) recovered(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 && ctx.Err() == nil {
		d.logger.InfoContext(ctx, "telnet points are stored again")
	}
	d.metrics.outages.Set(float64(d.waiting))
}
