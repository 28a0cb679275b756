package job

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	intervals, put, deleted, lateHours, errors prometheus.Counter
	lag                                        prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_rollup_fill_" + name, Help: help})
	}
	return metrics{
		intervals: counter("intervals_total", "Intervals of series that were computed from points for the rollup tables, those computed anew included."),
		put:       counter("values_put_total", "Values that were put into the rollup tables because they were missing or different."),
		deleted:   counter("values_deleted_total", "Values that were deleted from the rollup tables because their points are gone or their type has changed."),
		lateHours: counter("repeated_total", "Hours whose intervals were computed anew because points came late or were deleted."),
		errors:    counter("errors_total", "Passes over closed intervals that ended before they were complete."),
		lag: f.NewGauge(prometheus.GaugeOpts{
			Name: "tsdbridge_rollup_fill_lag_seconds",
			Help: "Age of the oldest closed interval that is not in the rollup tables yet.",
		}),
	}
}
