package resultcache

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/cache"
)

type metrics struct{ answered *prometheus.CounterVec }

func newMetrics(r prometheus.Registerer, e *cache.Budgeted[key, entry]) metrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_cache_bytes", Help: "Memory of the cached answers of range queries.",
	}, func() float64 { _, bytes := e.Held(); return float64(bytes) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_cache_entries", Help: "Cached answers of range queries.",
	}, func() float64 { n, _ := e.Held(); return float64(n) })
	answered := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_query_cache_requests_total",
		Help: "Range queries by how much of the answer was kept: kept (all of it), extended (some steps were evaluated), new (none of it), not_kept (its steps depend on each other).",
	}, []string{"answer"})
	for _, answer := range []string{"kept", "extended", "new", "not_kept"} {
		answered.WithLabelValues(answer)
	}
	return metrics{answered}
}

func (m metrics) count(answer string) { m.answered.WithLabelValues(answer).Inc() }
