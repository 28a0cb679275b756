package retention

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	passes, errors, series, rows prometheus.Counter
	last, seconds                prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_retention_rules_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_retention_rules_" + name, Help: help})
	}
	return metrics{
		passes:  counter("passes_total", "Passes that deleted all that is too old by the rules of the retention."),
		errors:  counter("errors_total", "Passes that ended before they were complete."),
		series:  counter("series_total", "Series whose old points were deleted, if they had any, counted in each pass."),
		rows:    counter("rows_deleted_total", "Rows that the passes deleted."),
		last:    gauge("last_pass_timestamp_seconds", "End of the last whole pass."),
		seconds: gauge("last_pass_duration_seconds", "Duration of the last whole pass, its rests included."),
	}
}
