package hatracker

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct{ elections, failures, waits prometheus.Counter }

func newMetrics(reg prometheus.Registerer, clusters func() int) *metrics {
	factory := promauto.With(reg)
	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_write_dedup_clusters", Help: "Clusters of which one replica is elected."},
		func() float64 { return float64(clusters()) })
	return &metrics{
		elections: factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_write_dedup_elections_total", Help: "Replicas that were elected, the first of a cluster too."}),
		failures:  factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_write_dedup_failures_total", Help: "Times that the record of who is elected could not be read or written."}),
		waits:     factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_write_dedup_waits_total", Help: "Times that a replica had to send again, since it was not known after an outage whether the elected one is silent."}),
	}
}
