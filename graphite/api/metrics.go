package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// apiMetrics count what was asked and what it took.
type apiMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	series   prometheus.Counter
	points   prometheus.Counter
}

func newAPIMetrics(reg prometheus.Registerer) *apiMetrics {
	f := promauto.With(reg)
	return &apiMetrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "tsdbridge_graphite_requests_total", Help: "Requests to the Graphite API, by status.",
		}, []string{"endpoint", "code"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsdbridge_graphite_request_duration_seconds", Help: "Time from a request to the end of its answer.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"endpoint"}),
		series: f.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_graphite_series_read_total", Help: "Series read for targets of render requests.",
		}),
		points: f.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_graphite_points_read_total", Help: "Slots of series read for targets of render requests, empty ones included.",
		}),
	}
}

func (m *apiMetrics) done(endpoint string, code int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(code)).Inc()
	m.duration.WithLabelValues(endpoint).Observe(took.Seconds())
}
