package log

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What failed.
const (
	failedFull   = "full" // MaxBytes reached, or the disk full
	failedWrite  = "write"
	failedSync   = "sync"
	failedCreate = "create" // of a segment
	failedRemove = "remove" // of a segment, or its being made ready to be used again
)

type metrics struct {
	appends, groups, bytes prometheus.Counter
	sync                   prometheus.Histogram
	errors                 map[string]prometheus.Counter
}

// newMetrics registers the metrics. limit is Options.MaxBytes.
func newMetrics(reg prometheus.Registerer, size, segments func() float64, limit, cut float64) *metrics {
	factory := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_log_" + name, Help: help})
	}
	gauge := func(name, help string, value func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_log_" + name, Help: help}, value)
	}
	gauge("size_bytes", "Bytes that the files of the log take, reserved ones included.", size)
	gauge("limit_bytes", "Bytes that the files of the log may take; near it points are refused with 503.",
		func() float64 { return limit })
	gauge("segments", "Files of the log that hold records or are ready to.", segments)
	gauge("cut_bytes", "Bytes that the start cut off after the last record: a write that was never acknowledged, and the reserved space after it.",
		func() float64 { return cut })
	m := &metrics{
		appends: counter("appends_total", "Records written and synced."),
		groups:  counter("groups_total", "Groups of records written and synced together."),
		bytes:   counter("written_bytes_total", "Bytes of records written and synced, with their headers."),
		sync: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "tsdbridge_log_sync_duration_seconds",
			Help:    "Time of an fdatasync of the log.",
			Buckets: []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 5},
		}),
		errors: map[string]prometheus.Counter{},
	}
	failures := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_log_errors_total",
		Help: "Failures of the log: the disk or --write.log.max-bytes is full (full), or the disk failed. Records that waited for it were not acknowledged.",
	}, []string{"kind"})
	for _, kind := range []string{failedFull, failedWrite, failedSync, failedCreate, failedRemove} {
		m.errors[kind] = failures.WithLabelValues(kind)
	}
	return m
}

func (m *metrics) wrote(records int, size int64) {
	m.groups.Inc()
	m.appends.Add(float64(records))
	m.bytes.Add(float64(size))
}

// failed counts an error under its kind, or as full when it is an ErrFull.
func (m *metrics) failed(kind string, err error) {
	if noSpace(err) {
		kind = failedFull
	}
	m.errors[kind].Inc()
}
