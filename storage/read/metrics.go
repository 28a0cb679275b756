package read

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the figures of the read path.
type metrics struct {
	selectRows, plans [planKinds]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f, m := promauto.With(reg), &metrics{}
	rows := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_store_select_rows_total", Help: "Rows read by key (plan rows) or scanned for queries, by the way they were read.",
	}, []string{"plan"})
	plans := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_store_plans_total", Help: "Plans made for queries, one for each metric and salt bucket, by the way they chose.",
	}, []string{"plan"})
	for kind := range planKinds {
		m.selectRows[kind], m.plans[kind] = rows.WithLabelValues(kind.String()), plans.WithLabelValues(kind.String())
	}
	return m
}
