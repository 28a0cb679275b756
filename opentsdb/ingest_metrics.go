package opentsdb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The values of the label protocol.
const (
	protocolTelnet = "telnet"
	protocolHTTP   = "http"
)

// protocolMetrics are the counters of one protocol. Received = written + rejected + failed.
type protocolMetrics struct{ received, written, rejected, failed prometheus.Counter }

func newIngestMetrics(reg prometheus.Registerer) (telnet, http protocolMetrics) {
	vec := func(name, help string) *prometheus.CounterVec {
		return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_opentsdb_points_" + name + "_total", Help: help}, []string{"protocol"})
	}
	received := vec("received", "Points received, good or bad.")
	written := vec("written", "Points that the store acknowledged.")
	rejected := vec("rejected", "Points refused for good, with an answer that says why.")
	failed := vec("failed", "Points not acknowledged for a reason of ours; of telnet, lost when the process stopped.")
	of := func(protocol string) protocolMetrics {
		return protocolMetrics{
			received.WithLabelValues(protocol), written.WithLabelValues(protocol),
			rejected.WithLabelValues(protocol), failed.WithLabelValues(protocol),
		}
	}
	return of(protocolTelnet), of(protocolHTTP)
}
