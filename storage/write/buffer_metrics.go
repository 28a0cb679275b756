package write

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// bufferMetrics are the figures of the way through log and head. The rows that a flush had to read
// and merge are the store's own (tsdbridge_store_append_rows_read_total, rows_replaced_total).
type bufferMetrics struct {
	replayed, failures prometheus.Counter
	flushSeconds       prometheus.Histogram
}

func newBufferMetrics(reg prometheus.Registerer, b *buffer) *bufferMetrics {
	f := promauto.With(reg)
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_head_" + name, Help: help}, value)
	}
	gauge("bytes", "Memory of points that are not in the table yet.", func() float64 { return float64(b.head.Stats().Bytes) })
	gauge("held_bytes", "Memory taken for points that are not in the table yet, free blocks included.", func() float64 { return float64(b.head.Stats().Held) })
	gauge("max_bytes", "Memory that points may take before they are in the table (--write.buffer.max-bytes); beyond it rows are put early.", func() float64 { return float64(b.o.MaxHeadBytes) })
	gauge("rows", "Rows, of a series and an hour each, that are not in the table yet.", func() float64 { return float64(b.head.Stats().Rows) })
	gauge("flush_lag_seconds", "Age of the oldest point that is not in the table yet.", func() float64 {
		if at, ok := b.head.OldestArrival(); ok {
			return max(0, b.now().Sub(at).Seconds())
		}
		return 0
	})
	return &bufferMetrics{
		replayed: f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_head_points_replayed_total", Help: "Points that the start read from the log: those that the process before had not put into the table when it ended."}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_head_flush_failures_total", Help: "Flushes that the engine refused; their rows stay in the log and are tried again.",
		}),
		flushSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "tsdbridge_head_flush_duration_seconds", Help: "Duration of one flush of rows that were due.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
	}
}

// flushed counts one flush that put rows, or failed.
func (m *bufferMetrics) flushed(begin time.Time, rows int, err error) {
	if err != nil {
		m.failures.Inc()
	}
	if rows > 0 {
		m.flushSeconds.Observe(time.Since(begin).Seconds())
	}
}
