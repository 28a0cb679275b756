package carbon

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The values of the label protocol.
const (
	protocolTCP      = "tcp"
	protocolUDP      = "udp"
	protocolPickle   = "pickle"
	protocolProtobuf = "protobuf"
)

// listenerMetrics are the counters of a listener. Lines = points + rejected lines + lost points +
// held points.
type listenerMetrics struct {
	accepted                     prometheus.Counter
	tcp, udp, pickle, protobuf   protocolMetrics
	rejected                     [reasons]prometheus.Counter
	points, lost, retries        prometheus.Counter
	held, outages                prometheus.Gauge
	datagrams, droppedDatagrams  prometheus.Counter
	droppedBytes, abandonedBytes prometheus.Counter
}

// protocolMetrics are those that each protocol has. An item of a frame counts as a line.
type protocolMetrics struct{ lines, bytes prometheus.Counter }

func newListenerMetrics(reg prometheus.Registerer) *listenerMetrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_carbon_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_carbon_" + name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_carbon_" + name, Help: help}, []string{label})
	}
	lines := vec("lines_total", "Lines received, and points in frames, good or bad.", "protocol")
	bytes := vec("received_bytes_total", "Bytes received.", "protocol")
	protocol := func(name string) protocolMetrics {
		return protocolMetrics{lines.WithLabelValues(name), bytes.WithLabelValues(name)}
	}
	m := &listenerMetrics{
		accepted:         counter("connections_total", "Connections accepted."),
		tcp:              protocol(protocolTCP),
		udp:              protocol(protocolUDP),
		pickle:           protocol(protocolPickle),
		protobuf:         protocol(protocolProtobuf),
		points:           counter("points_total", "Points that the store took or refused by name, and those that were only aggregated."),
		lost:             counter("lost_points_total", "Points received and lost, since the store did not take them before the process stopped."),
		retries:          counter("retries_total", "Writes that the store did not take and that were tried again."),
		held:             gauge("held_points", "Points that wait for the store; their senders are not read from meanwhile."),
		outages:          gauge("waiting_writes", "Writes that the store has refused to take for now; 0 when all is well."),
		datagrams:        counter("udp_datagrams_total", "Datagrams received, dropped ones included."),
		droppedDatagrams: counter("udp_dropped_datagrams_total", "Datagrams dropped unread, since too many waited for the store."),
		droppedBytes:     counter("udp_dropped_bytes_total", "Bytes of the datagrams dropped unread."),
		abandonedBytes:   counter("abandoned_bytes_total", "Bytes read but not parsed, because the line before them closed the connection."),
	}
	rejected := vec("rejected_lines_total", "Lines, items of frames and frames that are no points.", "reason")
	for r := Reason(1); r < reasons; r++ {
		m.rejected[r] = rejected.WithLabelValues(r.String())
	}
	return m
}
