package graphite

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// ingestMetrics are the counters of an Ingest. Received = written + rejected + failed.
type ingestMetrics struct{ received, written, rejected, failed prometheus.Counter }

func newIngestMetrics(reg prometheus.Registerer) *ingestMetrics {
	counter := func(name, help string) prometheus.Counter {
		return promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "tsdbridge_graphite_points_" + name + "_total", Help: help})
	}
	return &ingestMetrics{
		received: counter("received", "Points handed to the store, those that are handed to it again included."),
		written:  counter("written", "Points that the store acknowledged."),
		rejected: counter("rejected", "Points refused for good: of names that the store does not take."),
		failed:   counter("failed", "Points not acknowledged for a reason of ours; the listener hands them over again."),
	}
}

// count counts a write whose outcome is known.
func (m *ingestMetrics) count(w *ingestWrite) {
	m.received.Add(float64(len(w.points)))
	if w.err != nil {
		m.failed.Add(float64(len(w.points)))
		return
	}
	m.rejected.Add(float64(w.refused))
	m.written.Add(float64(len(w.points) - w.refused))
}
