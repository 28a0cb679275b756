package carbon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// A Sink takes points. Write returns nil when they are stored, or refused for good, which the Sink
// counts. An error means "not now": some may be stored, or none, and the caller writes them again,
// which must do no harm. Write does not keep the points or their names. It is safe for concurrent
// use.
type Sink interface {
	Write(ctx context.Context, points []Point) error
}

// delivery hands points to the sink until it takes them. Meanwhile the caller waits, and does not
// read from its sender.
type delivery struct {
	netserver.Retrier
	sink    Sink
	intake  func(points []Point) []Point // nil: none
	metrics *listenerMetrics
	lost    atomic.Int64 // points
}

func newDelivery(sink Sink, logger *slog.Logger, m *listenerMetrics, stopping <-chan struct{}) *delivery {
	return &delivery{
		Retrier: netserver.Retrier{What: "carbon", Logger: logger, Stopping: stopping, Retries: m.retries, Waiting: m.outages},
		sink:    sink, metrics: m,
	}
}

// write returns when the sink has taken the points, or when ctx ends. In the latter case they are
// lost.
func (d *delivery) write(ctx context.Context, points []Point) {
	if len(points) == 0 {
		return
	}
	n := float64(len(points))
	d.metrics.held.Add(n)
	defer d.metrics.held.Sub(n)
	if d.intake != nil {
		points = d.intake(points)
	}
	if len(points) > 0 && !d.Retry(ctx, func() error { return d.sink.Write(ctx, points) }) {
		d.metrics.lost.Add(float64(len(points)))
		d.lost.Add(int64(len(points)))
		n -= float64(len(points))
	}
	d.metrics.points.Add(n)
}
