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
