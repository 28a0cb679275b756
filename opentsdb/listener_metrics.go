package opentsdb

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/opentsdb/put"
)

// listenerMetrics are the counters of a listener. Those that the command stats shows too are ours,
// the registry reads them.
type listenerMetrics struct {
	open, total, lines, bad atomic.Int64
	telnet, http            prometheus.Counter
	received                prometheus.Counter
	mute                    prometheus.Counter
	unfinished, foreign     prometheus.Counter
	delivery                put.DeliveryMetrics
}

func newListenerMetrics(reg prometheus.Registerer) *listenerMetrics {
	f := promauto.With(reg)
	m := &listenerMetrics{}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_opentsdb_" + name, Help: help})
	}
	read := func(name, help string, v *atomic.Int64) {
		f.NewCounterFunc(prometheus.CounterOpts{Name: "tsdbridge_opentsdb_" + name, Help: help}, func() float64 { return float64(v.Load()) })
	}
	read("telnet_lines_total", "Lines received by telnet, good or bad, points or not.", &m.lines)
	read("telnet_bad_lines_total", "Lines of telnet with points that were refused.", &m.bad)
	protocols := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_opentsdb_connections_total", Help: "Connections accepted that sent something.",
	}, []string{"protocol"})
	m.telnet, m.http = protocols.WithLabelValues(put.ProtocolTelnet), protocols.WithLabelValues(put.ProtocolHTTP)
	m.received = counter("telnet_received_bytes_total", "Bytes received by telnet.")
	m.delivery = put.NewDeliveryMetrics(reg)
	m.mute = counter("telnet_unheard_connections_total", "Connections that did not read their answers and get no more.")
	m.unfinished = counter("telnet_unfinished_lines_total", "Lines in which a connection ended; they may be cut anywhere and are dropped.")
	m.foreign = counter("foreign_connections_total", "Connections ended because they spoke another protocol: telnet with a line of an HTTP request, or TLS where there is none.")
	return m
}
