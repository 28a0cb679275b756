package e2e_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// target is an application with every kind of metric, to be scraped. Its values depend only on the
// number of the scrape.
type target struct {
	addr     string     // host:port
	mu       sync.Mutex // guards all below
	scrapes  int
	ended    map[string]bool // queues
	requests *prometheus.CounterVec
	depth    *prometheus.GaugeVec
	special  *prometheus.GaugeVec
	classic  prometheus.Histogram
	native   *prometheus.HistogramVec
	summary  prometheus.Summary
}

// startTarget serves a target until the test ends.
func startTarget(t testing.TB) *target {
	t.Helper()
	g := &target{
		ended:    map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "test_requests_total", Help: "Requests, by code."}, []string{"code", "path"}),
		depth:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "test_depth", Help: "A gauge whose series come and go."}, []string{"queue"}),
		special:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "test_special", Help: "Values that are no numbers, and borders."}, []string{"value"}),
		classic: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "test_classic_seconds", Help: "A histogram in buckets.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 8),
		}),
		native: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "test_native_seconds", Help: "A native histogram.", NativeHistogramBucketFactor: 1.1,
		}, []string{"zone"}),
		summary: prometheus.NewSummary(prometheus.SummaryOpts{Name: "test_summary_seconds", Help: "A summary.", Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01}}),
	}
	registry := prometheus.NewRegistry()
	restarts := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "test_restarting_total", Help: "A counter that begins anew."},
		func() float64 { return float64(g.scrapes % 17) })
	registry.MustRegister(g.requests, g.depth, g.special, g.classic, g.native, g.summary, restarts)
	serve := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.advance()
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.addr = strings.TrimPrefix(server.URL, "http://")
	return g
}

// advance lets a second of the application's life pass. g.mu is held.
func (g *target) advance() {
	g.scrapes++
	n := float64(g.scrapes)
	trace := prometheus.Labels{"trace_id": strconv.Itoa(g.scrapes)}
	for i, code := range []string{"200", "404", "500"} {
		c := g.requests.WithLabelValues(code, "/a b/ü\n\"")
		c.(prometheus.ExemplarAdder).AddWithExemplar(math.Floor(n/float64(i+1))+0.1, trace)
	}
	for i, queue := range []string{"steady", "outage", "end"} {
		if g.ended[queue] {
			g.depth.DeleteLabelValues(queue)
			continue
		}
		g.depth.WithLabelValues(queue).Set(math.Sin(n+float64(i)) * 1e6)
	}
	// Not -0: Prometheus sends it as 0, because its protobuf library takes it for a default value
	// and leaves it out.
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.SmallestNonzeroFloat64, math.MaxFloat64} {
		// Each series changes its kind of value all the time.
		g.special.WithLabelValues(strconv.Itoa(i)).Set(v)
		if g.scrapes%4 == i%4 {
			g.special.WithLabelValues(strconv.Itoa(i)).Set(n)
		}
	}
	for i := range 7 {
		seconds := math.Abs(math.Sin(n*7+float64(i))) * 2
		g.classic.(prometheus.ExemplarObserver).ObserveWithExemplar(seconds, trace)
		g.native.WithLabelValues("a").(prometheus.ExemplarObserver).ObserveWithExemplar(seconds, trace)
		g.native.WithLabelValues("b").Observe(-seconds * n)
		g.summary.Observe(seconds)
	}
	if g.scrapes%13 == 0 {
		g.native.DeleteLabelValues("b") // a reset
	}
}

// End ends a series of test_depth: the next scrape does not have it, and Prometheus marks it as
// stale.
func (g *target) End(queue string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended[queue] = true
}

// Scrapes returns how often the target was scraped.
func (g *target) Scrapes() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.scrapes
}
