package opentsdb

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/ingest/listen"
	"github.com/tsdbridge/tsdbridge/storage"
)

// delivery hands what telnet sent to the store until it takes it. A TSD answers such a line with an
// error, and most senders do not listen; here the connection waits meanwhile, and does not read
// from its sender.
type delivery struct {
	listen.Retrier
	metrics *listenerMetrics
	lost    atomic.Int64 // points
}

func newDelivery(logger *slog.Logger, m *listenerMetrics, stopping <-chan struct{}) *delivery {
	return &delivery{
		Retrier: listen.Retrier{What: "telnet", Logger: logger, Stopping: stopping, Retries: m.retries, Waiting: m.outages},
		metrics: m,
	}
}

// write returns when the points of a job are durable, or refused, or when ctx ends: then they are
// lost. refuse is told of points whose series the store refused, by their origin, and of all points
// with origin -1.
func (d *delivery) write(ctx context.Context, j job, refuse func(origin int, err error)) {
	n := float64(len(j.Batch.Refs))
	d.metrics.held.Add(n)
	defer d.metrics.held.Sub(n)
	var refusal error
	ok := d.Retry(ctx, func() error {
		err := j.in.Store(ctx, j.Job)
		if err != nil && storage.IsRefusal(err) {
			refusal, err = err, nil
		}
		return err
	})
	j.EachRefused(refuse)
	switch {
	case !ok:
		d.lost.Add(int64(len(j.Batch.Refs)))
		j.protocol.Count(j.Job, errLost)
	case refusal != nil:
		refuse(-1, refusal)
		j.protocol.Count(j.Job, refusal)
	default:
		j.protocol.Count(j.Job, nil)
	}
}

var errLost = errors.New("lost")
