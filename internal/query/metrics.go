package query

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// measures are the metrics of all queries, by language. The zero value counts nothing.
type measures struct {
	inFlight *prometheus.GaugeVec
	duration *prometheus.HistogramVec
}

// Measure registers the metrics of queries. It is called before the first query begins, with the languages that
// there are.
func (r *Registry) Measure(reg prometheus.Registerer, languages ...string) {
	f := promauto.With(reg)
	r.metrics = measures{
		inFlight: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tsdbridge_queries_in_flight", Help: "Queries that are being answered or wait for their turn, by language.",
		}, []string{"language"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsdbridge_query_duration_seconds", Help: "Time of queries until they were evaluated or failed, by language, with what they waited for their turn.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"language"}),
	}
	for _, language := range languages {
		r.metrics.inFlight.WithLabelValues(label(language))
		r.metrics.duration.WithLabelValues(label(language))
	}
}

func (m *measures) began(q *Query) {
	if m.inFlight != nil {
		m.inFlight.WithLabelValues(label(q.Language)).Inc()
	}
}

func (m *measures) ended(q *Query, took time.Duration) {
	if m.inFlight != nil {
		m.inFlight.WithLabelValues(label(q.Language)).Dec()
		m.duration.WithLabelValues(label(q.Language)).Observe(took.Seconds())
	}
}

// label is the value of the label for a language.
func label(language string) string { return strings.ReplaceAll(language, " ", "_") }
