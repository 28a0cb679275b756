package put

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Delivery hands what telnet sent to the store until it takes it. When its store fails, a TSD
// answers a line with an error, which most senders ignore. Here the connection waits, and does not
// read from its sender.
type Delivery struct {
	netserver.Retrier
	held prometheus.Gauge
	lost atomic.Int64 // points
}

// NewDelivery returns a delivery that gives up when stopping is closed.
func NewDelivery(logger *slog.Logger, m DeliveryMetrics, stopping <-chan struct{}) *Delivery {
	return &Delivery{
		Retrier: netserver.Retrier{What: "telnet", Logger: logger, Stopping: stopping, Retries: m.retries, Waiting: m.Outages},
		held:    m.Held,
	}
}

// LostPoints returns how many points were lost.
func (d *Delivery) LostPoints() int64 { return d.lost.Load() }

// write returns when the points of a job are durable, or refused, or when ctx ends: then they are
// lost. refuse is called for each point whose series the store refused, with its series as it was sent, and
// with all points and an empty series when the store refused all.
func (d *Delivery) write(ctx context.Context, j job, refuse func(series string, points int, err error)) {
	n := float64(len(j.Batch.Refs))
	d.held.Add(n)
	defer d.held.Sub(n)
	var refusal error
	ok := d.Retry(ctx, func() error {
		err := j.in.Store(ctx, j.Job)
		if err != nil && storage.IsRefusal(err) {
			refusal, err = err, nil
		}
		return err
	})
	j.EachRefusedPoint(func(_ int, series string, err error) { refuse(series, 1, err) })
	switch {
	case !ok:
		d.lost.Add(int64(len(j.Batch.Refs)))
		j.protocol.Count(j.Job, errLost)
	case refusal != nil:
		refuse("", len(j.Batch.Refs), refusal)
		j.protocol.Count(j.Job, refusal)
	default:
		j.protocol.Count(j.Job, nil)
	}
}

// writeHistograms is write for histograms.
func (d *Delivery) writeHistograms(ctx context.Context, j job, h *Histograms, refuse func(series storage.Series, points int, err error)) {
	if len(h.list) == 0 {
		j.protocol.countHistograms(h, 0, nil)
		return
	}
	n := float64(len(h.list))
	d.held.Add(n)
	defer d.held.Sub(n)
	var refusal error
	rejected := 0
	ok := d.Retry(ctx, func() error {
		err := j.in.storeHistograms(ctx, h, func(origin int, err error) {
			rejected++
			refuse(h.of(origin), 1, err)
		})
		if err != nil && storage.IsRefusal(err) {
			refusal, err = err, nil
		}
		return err
	})
	switch {
	case !ok:
		d.lost.Add(int64(len(h.list)))
		j.protocol.countHistograms(h, 0, errLost)
	case refusal != nil:
		refuse(storage.Series{}, len(h.list), refusal)
		j.protocol.countHistograms(h, 0, refusal)
	default:
		j.protocol.countHistograms(h, rejected, nil)
	}
}

var errLost = errors.New("lost")
