package netserver

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// measure registers the metrics of the port, and returns the counter of the connections that were closed for
// new ones.
func (p *Port) measure() (displaced prometheus.Counter) {
	f, port := promauto.With(p.o.Registerer), prometheus.Labels{"port": p.o.Name}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_port_connections", Help: "Connections open.", ConstLabels: port,
	}, func() float64 { return float64(p.open()) })
	f.NewGauge(prometheus.GaugeOpts{
		Name: "tsdbridge_port_max_connections", Help: "Connections that may be open at once (the max-connections flag of the port).", ConstLabels: port,
	}).Set(float64(p.o.Max))
	return f.NewCounter(prometheus.CounterOpts{
		Name: "tsdbridge_port_displaced_connections_total", Help: "Silent connections closed for new ones, because as many as allowed were open.", ConstLabels: port,
	})
}

// open returns how many connections are open.
func (p *Port) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}
