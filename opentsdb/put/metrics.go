package put

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// The values of the label protocol.
const (
	ProtocolTelnet = "telnet"
	ProtocolHTTP   = "http"
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
	return of(ProtocolTelnet), of(ProtocolHTTP)
}

// DeliveryMetrics are those of a delivery.
type DeliveryMetrics struct {
	Held, Outages prometheus.Gauge
	retries       prometheus.Counter
}

// NewDeliveryMetrics registers the metrics of deliveries; reg may be nil.
func NewDeliveryMetrics(reg prometheus.Registerer) DeliveryMetrics {
	f := promauto.With(reg)
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_opentsdb_telnet_" + name, Help: help})
	}
	return DeliveryMetrics{
		Held:    gauge("held_points", "Points that wait for the store; their senders are not read from meanwhile."),
		Outages: gauge("waiting_writes", "Writes that the store has refused to take for now; 0 when all is well."),
		retries: f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_opentsdb_telnet_retries_total", Help: "Writes that the store did not take and that were tried again."}),
	}
}

// Statistics are those of puts, of telnet and HTTP together.
func (in *Store) Statistics() []httpapi.Statistic {
	both := func(telnet, http prometheus.Counter) int64 { return countOf(telnet) + countOf(http) }
	return []httpapi.Statistic{
		{Name: "rpc.received", Value: both(in.telnet.Received, in.http.Received), Tags: "type=put"},
		{Name: "rpc.errors", Value: countOf(in.http.Rejected), Tags: "type=illegal_arguments"},
		{Name: "rpc.errors", Value: both(in.telnet.Failed, in.http.Failed), Tags: "type=hbase_errors"},
		{Name: "datapoints.added", Value: both(in.telnet.Written, in.http.Written), Tags: "type=all"},
	}
}

// countOf reads a counter.
func countOf(c prometheus.Counter) int64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return int64(m.GetCounter().GetValue())
}
