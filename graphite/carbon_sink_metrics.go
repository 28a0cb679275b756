package graphite

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/ingest"
)

func newSinkCounters(reg prometheus.Registerer) ingest.Counters {
	counter := func(name, help string) prometheus.Counter {
		return promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "tsdbridge_graphite_points_" + name + "_total", Help: help})
	}
	return ingest.Counters{
		Received: counter("received", "Points handed to the store, those that are handed to it again included."),
		Written:  counter("written", "Points that the store acknowledged."),
		Rejected: counter("rejected", "Points refused for good: of names that the store does not take."),
		Failed:   counter("failed", "Points not acknowledged for a reason of ours; the listener hands them over again."),
	}
}
