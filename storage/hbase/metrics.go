package hbase

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The operations whose time is measured.
const (
	opGet         = "get"
	opHistory     = "history"
	opScan        = "scan" // one answer of a scan
	opApply       = "apply"
	opIncrement   = "increment"
	opCheckAndPut = "check_and_put"
)

// metrics are the engine's own; gohbase registers some of its own with the default registry.
type metrics struct {
	duration                map[string]prometheus.Observer // by operation
	failures                *prometheus.CounterVec
	moved, again            prometheus.Counter
	resumes                 prometheus.Counter
	cellsRead, cellsWritten prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	duration := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tsdbridge_hbase_request_duration_seconds",
		Help:    "Time until HBase had answered, with all retries: a batch of gets or mutations, one answer of a scan, or a single request.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"operation"})
	retries := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_hbase_retries_total",
		Help: "Batches sent again in part or whole because a region had moved or a server could not do it just then. gohbase's own retries are not in it.",
	}, []string{"class"})
	m := &metrics{
		duration: map[string]prometheus.Observer{},
		failures: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "tsdbridge_hbase_request_failures_total",
			Help: "Requests to HBase that failed after all retries: no answer in time, a missing table, or an exception. Those that their caller gave up are not in it.",
		}, []string{"operation"}),
		moved: retries.WithLabelValues("moved"),
		again: retries.WithLabelValues("busy"),
		resumes: factory.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_hbase_scan_resumes_total",
			Help: "Scans that lost their scanner (a moved or split region, a lost answer) and went on after the last whole row.",
		}),
		cellsRead: factory.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_hbase_cells_read_total",
			Help: "Cells that HBase returned.",
		}),
		cellsWritten: factory.NewCounter(prometheus.CounterOpts{
			Name: "tsdbridge_hbase_cells_written_total",
			Help: "Cells put or deleted, acknowledged by HBase.",
		}),
	}
	for _, op := range []string{opGet, opHistory, opScan, opApply, opIncrement, opCheckAndPut} {
		m.duration[op] = duration.WithLabelValues(op)
		m.failures.WithLabelValues(op)
	}
	return m
}

// timed starts a measurement; calling what it returns ends it.
func (m *metrics) timed(operation string) func() {
	start := time.Now()
	return func() { m.duration[operation].Observe(time.Since(start).Seconds()) }
}

// failed counts a failure of an operation whose time is measured.
func (m *metrics) failed(operation string) {
	if _, ok := m.duration[operation]; ok {
		m.failures.WithLabelValues(operation).Inc()
	}
}
