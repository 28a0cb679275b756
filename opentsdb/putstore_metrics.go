package opentsdb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// The values of the label protocol.
const (
	protocolTelnet = "telnet"
	protocolHTTP   = "http"
)

func newCounters(reg prometheus.Registerer) (telnet, http ingest.Counters) {
	vec := func(name, help string) *prometheus.CounterVec {
		return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_opentsdb_points_" + name + "_total", Help: help}, []string{"protocol"})
	}
	received := vec("received", "Points received, good or bad.")
	written := vec("written", "Points that the store acknowledged.")
	rejected := vec("rejected", "Points refused for good, with an answer that states the reason.")
	failed := vec("failed", "Points not acknowledged for a reason of ours; of telnet, lost when the process stopped.")
	of := func(protocol string) ingest.Counters {
		return ingest.Counters{
			Received: received.WithLabelValues(protocol), Written: written.WithLabelValues(protocol),
			Rejected: rejected.WithLabelValues(protocol), Failed: failed.WithLabelValues(protocol),
		}
	}
	return of(protocolTelnet), of(protocolHTTP)
}
