package relay

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
)

// Why points are dropped.
const (
	dropMemory = "memory" // they came faster than the disk takes them
	dropFull   = persistentqueue.ReasonFull
	dropDisk   = persistentqueue.ReasonDisk
	dropForm   = "form"   // the protocol has no form for them
	dropDamage = "damage" // the spool is damaged; counts records
)

// metrics are those of a Forwarder.
type metrics struct {
	points, bytes, connections prometheus.Counter
	connected                  prometheus.Gauge
	dropped                    map[string]prometheus.Counter
}

func newMetrics(f *Forwarder) *metrics {
	factory := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"destination": f.o.Address}, f.o.Registerer))
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_carbon_forward_" + name, Help: help})
	}
	gauge := func(name, help string, value func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_carbon_forward_" + name, Help: help}, value)
	}
	m := &metrics{
		points:      counter("sent_points_total", "Points sent to the other carbon, those that were sent again included."),
		bytes:       counter("sent_bytes_total", "Bytes sent to the other carbon."),
		connections: counter("connections_total", "Connections made to the other carbon."),
		connected:   factory.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_carbon_forward_connected", Help: "1 while there is a connection to the other carbon."}),
		dropped:     map[string]prometheus.Counter{},
	}
	gauge("spooled_bytes", "Bytes of the spool that the other carbon is not known to have.", func() float64 { return float64(f.spool.Waiting()) })
	gauge("lag_seconds", "How long ago the oldest point came that is not sent.", f.spool.Lag) // while there is no connection the oldest point is the one that was next
	dropped := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_carbon_forward_dropped_points_total",
		Help: "Points that are not sent: memory (the disk was too slow), full (--carbon.forward-max-bytes), disk (it failed or has little space), form (the protocol has none for them), damage (records that cannot be read).",
	}, []string{"reason"})
	for _, reason := range []string{dropMemory, dropFull, dropDisk, dropForm, dropDamage} {
		m.dropped[reason] = dropped.WithLabelValues(reason)
	}
	return m
}

func (m *metrics) drop(reason string, points int) { m.dropped[reason].Add(float64(points)) }
