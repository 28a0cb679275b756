package write

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage"
)

// metrics are the figures of the write path.
type metrics struct {
	points, objects            prometheus.Counter
	histograms                 prometheus.Counter
	rowsPut, rowsRead, rowsNew prometheus.Counter
	pointsKnown, rowsReplaced  prometheus.Counter
	rowsSettled                prometheus.Counter
	appendSeconds              prometheus.Histogram
	rowsFlushed                prometheus.Counter
}

// appended counts a batch that was acknowledged.
func (m *metrics) appended(b *storage.Batch, begin time.Time) {
	m.points.Add(float64(len(b.Refs)))
	m.objects.Add(float64(len(b.Objects)))
	m.appendSeconds.Observe(time.Since(begin).Seconds())
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_store_" + name, Help: help})
	}
	return &metrics{
		points:       counter("points_appended_total", "Points acknowledged, those that were there already included."),
		objects:      counter("objects_appended_total", "Objects (histograms, exemplars, start times) acknowledged."),
		histograms:   counter("opentsdb_histograms_put_total", "Histograms of OpenTSDB acknowledged."),
		rowsPut:      counter("rows_put_total", "Row mutations sent to the engine."),
		rowsRead:     counter("append_rows_read_total", "Rows read before writing: late points and rows that this process did not begin."),
		rowsNew:      counter("append_rows_begun_total", "Rows read before writing that did not exist yet."),
		pointsKnown:  counter("points_known_total", "Appended points that were already in their row."),
		rowsReplaced: counter("rows_replaced_total", "Rows whose cells were replaced because a point changed."),
		rowsSettled:  counter("rows_settled_total", "Rows of shared tables in which several processes had put one instant at the same time, and that were put right."),
		appendSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "tsdbridge_store_append_duration_seconds", Help: "Duration of one append.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
		rowsFlushed: counter("rows_flushed_total", "Rows put into the table from memory."),
	}
}

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
