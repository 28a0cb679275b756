package write

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// dataKind is a kind of data that remote write counts separately.
type dataKind int

const (
	kindSample dataKind = iota
	kindHistogram
	kindExemplar
	kindMetadata
	dataKinds
)

func (k dataKind) String() string {
	return [dataKinds]string{"sample", "histogram", "exemplar", "metadata"}[k]
}

// kindCounts counts data by kind.
type kindCounts [dataKinds]int

func (c kindCounts) total() (n int) {
	for _, v := range c {
		n += v
	}
	return n
}

func (c kindCounts) minus(o kindCounts) kindCounts {
	for k := range c {
		c[k] -= o[k]
	}
	return c
}

func (c kindCounts) plus(o kindCounts) kindCounts {
	for k := range c {
		c[k] += o[k]
	}
	return c
}

func (v version) String() string {
	if v == version2 {
		return "remote_write_2"
	}
	return "remote_write_1"
}

// doorMetrics are the metrics of remote write. For each kind and version, received = written +
// rejected + failed + deduplicated.
type doorMetrics struct {
	received, written, rejected, failed, deduplicated [version2 + 1][dataKinds]prometheus.Counter

	duration  *prometheus.HistogramVec
	successes [version2 + 1]atomic.Pointer[prometheus.Observer] // of duration; nil before the first
}

func newDoorMetrics(reg prometheus.Registerer, gate *netserver.Gate) *doorMetrics {
	factory := promauto.With(reg)
	count := func(name, help string) (out [version2 + 1][dataKinds]prometheus.Counter) {
		vec := factory.NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_write_samples_" + name + "_total", Help: help}, []string{"protocol", "kind"})
		for _, v := range []version{version1, version2} {
			for k := range dataKinds {
				out[v][k] = vec.WithLabelValues(v.String(), k.String())
			}
		}
		return out
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_write_requests_in_flight", Help: "Writes being served."},
		func() float64 { return float64(gate.Requests()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_write_in_flight_bytes", Help: "Memory of the writes being served: their bodies, compressed and decompressed, and what is made of them."},
		func() float64 { return float64(gate.Bytes()) })
	return &doorMetrics{
		received:     count("received", "Data in requests that could be decoded."),
		written:      count("written", "Data that the store acknowledged."),
		rejected:     count("rejected", "Data refused for good: the sender's mistake or over a limit."),
		failed:       count("failed", "Data not acknowledged for a reason of ours; the sender sends them again."),
		deduplicated: count("deduplicated", "Data of replicas that are not elected (--write.dedup.*): acknowledged and not stored."),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsdbridge_write_request_duration_seconds", Help: "Time from the request's head to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 17),
		}, []string{"protocol", "code"}),
	}
}

// outcome is what became of the data of a request.
type outcome struct{ received, written, rejected, failed, deduplicated kindCounts }

func (m *doorMetrics) count(v version, o outcome) {
	for k := range dataKinds {
		if o.received[k] == 0 {
			continue // so are the others
		}
		m.received[v][k].Add(float64(o.received[k]))
		m.written[v][k].Add(float64(o.written[k]))
		m.rejected[v][k].Add(float64(o.rejected[k]))
		m.failed[v][k].Add(float64(o.failed[k]))
		m.deduplicated[v][k].Add(float64(o.deduplicated[k]))
	}
}

// observe counts an answer under the class of its status, 2xx, 4xx or 5xx.
func (m *doorMetrics) observe(protocol string, status int, took time.Duration) {
	of := func() prometheus.Observer {
		return m.duration.WithLabelValues(protocol, strconv.Itoa(status/100)+"xx")
	}
	if status/100 != 2 {
		of().Observe(took.Seconds())
		return
	}
	v := version1
	if protocol == version2.String() {
		v = version2
	}
	success := m.successes[v].Load()
	if success == nil {
		first := of()
		success = &first
		m.successes[v].Store(success)
	}
	(*success).Observe(took.Seconds())
}
