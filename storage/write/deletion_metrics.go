package write

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage"
)

// deletionMetrics are the figures of deletions.
type deletionMetrics struct {
	made, failed, rows, series prometheus.Counter
	seconds                    prometheus.Histogram
}

// newDeletionMetrics registers the figures. unfinished counts the deletions that the table has
// yet to follow.
func newDeletionMetrics(reg prometheus.Registerer, unfinished func() float64) deletionMetrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_store_" + name, Help: help})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_store_deletions_unfinished",
		Help: "Deletions that are recorded and not carried out in the table. With the embedded engine rows that they touch wait in memory, and the log is not cut. On HBase those of all processes are counted, with the journal read every 10 s.",
	}, unfinished)
	return deletionMetrics{
		made:   counter("deletions_total", "Deletions that succeeded."),
		failed: counter("deletions_failed_total", "Deletions that returned an error. Those that the log has are finished later."),
		rows:   counter("deletion_rows_total", "Rows of points that deletions deleted or changed."),
		series: counter("deletion_series_total", "Series that were deleted as a whole."),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "tsdbridge_store_deletion_duration_seconds", Help: "Duration of one deletion.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 12),
		}),
	}
}

// ended counts a deletion that began at a time.
func (m *deletionMetrics) ended(begin time.Time, d storage.Deleted, err error) {
	if err != nil {
		m.failed.Inc()
	} else {
		m.made.Inc()
	}
	m.seconds.Observe(time.Since(begin).Seconds())
	m.count(d)
}

// count counts what was deleted.
func (m *deletionMetrics) count(d storage.Deleted) {
	m.rows.Add(float64(d.Rows))
	m.series.Add(float64(d.Series))
}
