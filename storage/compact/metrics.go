package compact

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	read, rows, removed, before, after, errors prometheus.Counter
	busy, foreign, damaged, changed            prometheus.Counter // rows that were left
	until                                      prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_closed_rows_" + name, Help: help})
	}
	bytes := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_closed_rows_bytes_total",
		Help: "Bytes of the cells of compacted rows (keys, qualifiers, values), before and after.",
	}, []string{"state"})
	left := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_closed_rows_left_total",
		Help: "Closed rows that were left as they are: written to a short time ago, appended to by a TSD, damaged, or changed by others while they were compacted.",
	}, []string{"reason"})
	return &metrics{
		read:    counter("read_total", "Closed rows that were read to find those of several cells."),
		rows:    counter("compacted_total", "Closed rows that were compacted."),
		removed: counter("cells_removed_total", "Cells of points that compactions of closed rows removed, each by a tombstone."),
		errors:  counter("errors_total", "Looks for closed rows that ended early."),
		before:  bytes.WithLabelValues("before"),
		after:   bytes.WithLabelValues("after"),
		busy:    left.WithLabelValues("busy"),
		foreign: left.WithLabelValues("append"),
		damaged: left.WithLabelValues("damaged"),
		changed: left.WithLabelValues("changed"),
		until: f.NewGauge(prometheus.GaugeOpts{
			Name: "tsdbridge_closed_rows_until_timestamp_seconds",
			Help: "All closed rows of hours before this time were looked at, by whichever process.",
		}),
	}
}
