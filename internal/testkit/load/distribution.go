package load

import (
	"fmt"
	"math"
	"strconv"
)

// The histograms of Shape.Explicit and Shape.Exponential, which only OTLP can send.
const (
	ExplicitMetric    = "http_server_request_duration_seconds"
	ExponentialMetric = "rpc_server_duration_seconds"
)

// explicitBounds are those that OpenTelemetry advises for http.server.request.duration.
var explicitBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

const (
	// exponentialBuckets is how many buckets an exponential histogram has; with the scale, they range
	// from about a millisecond to a second.
	exponentialBuckets = 40
	exponentialScale   = 2
	exponentialOffset  = -40
)

// distributionSeries makes histogram number i of a metric: fifty on each host.
func distributionSeries(shape Shape, metric string, kind kind, buckets, i int) Series {
	host := i / 50
	dc := "dc" + strconv.Itoa(host%4)
	s := Series{Host: host, kind: kind, state: shape.Seed<<40 + 1<<37 + uint64(kind)<<30 + uint64(i), counts: make([]uint64, buckets)}
	s.label([]Label{
		{"__name__", metric},
		{"dc", dc},
		{"env", shape.env()},
		{"handler", fmt.Sprintf("/api/v1/handler%02d", i%50)},
		{"instance", fmt.Sprintf("host-%04d.%s.example.com:9100", host, dc)},
		{"job", "api"},
	})
	s.begin()
	return s
}

// observe adds what was observed in a step, and returns the sum of all observations. Most are in
// the middle of the buckets.
func (s *Series) observe() float64 {
	middle := float64(len(s.counts)) * (0.4 + 0.2*s.fraction())
	for i := range s.counts {
		distance := (float64(i) - middle) / float64(len(s.counts))
		n := uint64(s.rate / 1000 * math.Exp(-20*distance*distance) * s.fraction())
		s.counts[i] += n
		s.value += float64(n) * float64(i+1) / 100
	}
	return s.value
}

// Count returns how many observations a histogram has.
func (s *Series) Count() (n uint64) {
	for _, c := range s.counts {
		n += c
	}
	return n
}
