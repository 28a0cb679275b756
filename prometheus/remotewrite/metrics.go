package remotewrite

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
)

// Why samples are dropped.
const (
	dropFull    = persistentqueue.ReasonFull
	dropDisk    = persistentqueue.ReasonDisk
	dropDamage  = "damage"  // records of the spool that cannot be read
	dropForm    = "form"    // the protocol has no form for them
	dropUnnamed = "unnamed" // their series has no name any more
	dropRelabel = "relabel" // write_relabel_configs
	dropAge     = "age"     // sample_age_limit
	dropRefused = "refused" // by the server
)

// metrics are those of all destinations.
type metrics struct {
	samples, bytes, dropped, retried *prometheus.CounterVec
	shards                           *prometheus.GaugeVec
	took                             *prometheus.HistogramVec
	waiting                          *waiting
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	const remote = "destination"
	m := &metrics{
		samples: f.NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_remote_write_sent_samples_total", Help: "Samples, histograms and exemplars that a destination of remote_write has taken."}, []string{remote, "kind"}),
		bytes:   f.NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_remote_write_sent_bytes_total", Help: "Compressed bytes that a destination of remote_write has taken."}, []string{remote}),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "tsdbridge_remote_write_dropped_samples_total",
			Help: "Samples that a destination of remote_write does not get: full (--remote-write.max-bytes), disk (it failed or has little space), damage (records of the spool that cannot be read), form (the protocol has none for them), unnamed (series without a name), relabel (write_relabel_configs), age (sample_age_limit), refused (by the destination).",
		}, []string{remote, "reason"}),
		retried: f.NewCounterVec(prometheus.CounterOpts{Name: "tsdbridge_remote_write_retried_requests_total", Help: "Requests that a destination of remote_write did not take, and that are sent again."}, []string{remote}),
		shards:  f.NewGaugeVec(prometheus.GaugeOpts{Name: "tsdbridge_remote_write_shards", Help: "Requests that are sent at once to a destination of remote_write."}, []string{remote}),
		took: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsdbridge_remote_write_request_duration_seconds", Help: "Duration of requests to a destination of remote_write.", Buckets: prometheus.DefBuckets,
		}, []string{remote}),
		waiting: newWaiting(),
	}
	r.MustRegister(m.waiting)
	return m
}

// remoteMetrics are those of a destination.
type remoteMetrics struct {
	samples, histograms, exemplars, bytes, retried prometheus.Counter
	dropped                                        map[string]prometheus.Counter
	shards                                         prometheus.Gauge
	took                                           prometheus.Observer
}

// of returns the metrics of a destination.
func (m *metrics) of(d *destination) *remoteMetrics {
	r := &remoteMetrics{
		samples: m.samples.WithLabelValues(d.name, "sample"), histograms: m.samples.WithLabelValues(d.name, "histogram"),
		exemplars: m.samples.WithLabelValues(d.name, "exemplar"), bytes: m.bytes.WithLabelValues(d.name),
		retried: m.retried.WithLabelValues(d.name), dropped: map[string]prometheus.Counter{},
		shards: m.shards.WithLabelValues(d.name), took: m.took.WithLabelValues(d.name),
	}
	for _, reason := range []string{dropFull, dropDisk, dropDamage, dropForm, dropUnnamed, dropRelabel, dropAge, dropRefused} {
		r.dropped[reason] = m.dropped.WithLabelValues(d.name, reason)
	}
	m.waiting.add(d)
	return r
}

// forget removes the metrics of a destination.
func (m *metrics) forget(name string) {
	of := prometheus.Labels{"destination": name}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.samples, m.bytes, m.dropped, m.retried, m.shards, m.took} {
		v.DeletePartialMatch(of)
	}
	m.waiting.remove(name)
}

func (r *remoteMetrics) drop(reason string, samples int) {
	if samples > 0 {
		r.dropped[reason].Add(float64(samples))
	}
}

func (r *remoteMetrics) sent(q request) {
	r.samples.Add(float64(q.samples))
	r.histograms.Add(float64(q.histograms))
	r.exemplars.Add(float64(q.exemplars))
	r.bytes.Add(float64(len(q.body)))
}

// waiting collects what waits in the spools.
type waiting struct {
	bytes, lag *prometheus.Desc

	mu  sync.Mutex // guards the next
	all map[string]*destination
}

func newWaiting() *waiting {
	remote := []string{"destination"}
	return &waiting{
		bytes: prometheus.NewDesc("tsdbridge_remote_write_spooled_bytes", "Bytes of the spool that a destination of remote_write does not have.", remote, nil),
		lag:   prometheus.NewDesc("tsdbridge_remote_write_lag_seconds", "How long ago the oldest samples came that a destination of remote_write does not have.", remote, nil),
		all:   map[string]*destination{},
	}
}

func (w *waiting) add(d *destination) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[d.name] = d
}

func (w *waiting) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, name)
}

// Describe implements prometheus.Collector.
func (w *waiting) Describe(c chan<- *prometheus.Desc) { c <- w.bytes; c <- w.lag }

// Collect implements prometheus.Collector.
func (w *waiting) Collect(c chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, d := range w.all {
		c <- prometheus.MustNewConstMetric(w.bytes, prometheus.GaugeValue, float64(d.spool.Waiting()), name)
		c <- prometheus.MustNewConstMetric(w.lag, prometheus.GaugeValue, d.spool.Lag(), name)
	}
}
