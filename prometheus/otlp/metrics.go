package otlp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// doorMetrics are the metrics of OTLP. Received = written + rejected + failed.
type doorMetrics struct {
	received, written, rejected, failed, duplicates prometheus.Counter

	duration *prometheus.HistogramVec
}

func newDoorMetrics(reg prometheus.Registerer, t *totals) *doorMetrics {
	factory := promauto.With(reg)
	count := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_otlp_" + name + "_data_points_total", Help: help})
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_otlp_delta_series", Help: "Series whose sums of deltas are in memory. One may count twice."},
		func() float64 { return float64(t.all().Len()) })
	return &doorMetrics{
		received:   count("received", "Data points of OTLP in requests that could be decoded."),
		written:    count("written", "Data points of OTLP whose samples the store acknowledged."),
		rejected:   count("rejected", "Data points of OTLP refused for good: the sender's mistake or over a limit."),
		failed:     count("failed", "Data points of OTLP not acknowledged for a reason of ours; the sender sends them again."),
		duplicates: count("repeated", "Deltas of OTLP that were sent again, and are in their sums already. They count as written too."),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsdbridge_otlp_request_duration_seconds", Help: "Time from the head of a request of OTLP to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 17),
		}, []string{"code"}),
	}
}

// outcome is what became of the data points of a request.
type outcome struct{ received, written, rejected, failed, duplicates int }

func (m *doorMetrics) count(o outcome) {
	m.received.Add(float64(o.received))
	m.written.Add(float64(o.written))
	m.rejected.Add(float64(o.rejected))
	m.failed.Add(float64(o.failed))
	m.duplicates.Add(float64(o.duplicates))
}

// observe counts an answer under the class of its status.
func (m *doorMetrics) observe(status int, took time.Duration) {
	class := "2xx"
	if status != http.StatusOK {
		class = strconv.Itoa(status/100) + "xx"
	}
	m.duration.WithLabelValues(class).Observe(took.Seconds())
}
