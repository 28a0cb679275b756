package tracing

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are what became of spans.
type counts struct {
	sent, full, failed, most atomic.Int64
	capped                   atomic.Int64 // requests
}

// The metrics of spans.
func sentDesc() *prometheus.Desc {
	return prometheus.NewDesc("tsdbridge_tracing_spans_sent_total", "Spans that the collector took.", nil, nil)
}

func droppedDesc() *prometheus.Desc {
	return prometheus.NewDesc("tsdbridge_tracing_spans_dropped_total",
		"Spans that are lost: more were waiting for the collector than may wait (queue_full), the collector refused some of their batch or did not answer (export_failed), or the request had too many of them (request_limit).", []string{"reason"}, nil)
}

func cappedDesc() *prometheus.Desc {
	return prometheus.NewDesc("tsdbridge_tracing_client_traces_capped_total",
		"Requests whose client asked for a trace, after more of them than --tracing.client-traces-per-second.", nil, nil)
}

// Describe implements prometheus.Collector.
func (t *Tracer) Describe(descs chan<- *prometheus.Desc) {
	descs <- sentDesc()
	descs <- droppedDesc()
	descs <- cappedDesc()
}

// Collect implements prometheus.Collector. Without a tracer all metrics are 0.
func (t *Tracer) Collect(metrics chan<- prometheus.Metric) {
	c := &counts{}
	if t != nil {
		c = t.counts
	}
	counter := func(desc *prometheus.Desc, n *atomic.Int64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n.Load()), labels...)
	}
	counter(sentDesc(), &c.sent)
	counter(droppedDesc(), &c.full, "queue_full")
	counter(droppedDesc(), &c.failed, "export_failed")
	counter(droppedDesc(), &c.most, "request_limit")
	counter(cappedDesc(), &c.capped)
}
