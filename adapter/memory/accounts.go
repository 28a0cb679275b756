package memory

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// NewBudget returns the memory budget of all queries, of so many bytes, and registers its metrics.
func NewBudget(bytes int64, registerer prometheus.Registerer) *query.Budget {
	b := query.NewBudget(bytes)
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_memory_limit_bytes",
		Help: "Memory that the answers to all queries may hold together (" + query.MemoryFlag + ").",
	}, func() float64 { return float64(b.Limit()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_memory_used_bytes",
		Help: "Memory that queries under way hold.",
	}, func() float64 { return float64(b.Used()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_memory_spare_bytes",
		Help: "Memory of cached answers and selectors, which queries take when they need it.",
	}, func() float64 { return float64(b.Spare()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "tsdbridge_query_memory_refused_total",
		Help: "Times that a query was refused memory.",
	}, func() float64 { return float64(b.Refused()) })
	return b
}
