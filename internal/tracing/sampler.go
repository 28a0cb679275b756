package tracing

import (
	"math/rand/v2"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// A sampler decides which requests are traced. A client's decision holds, but clients can only have so
// many traced a second: whoever reaches the port could otherwise fill the collector. Beyond that the
// fraction decides, by chance and not by the id of the trace, which is the client's to choose.
type sampler struct {
	fraction float64
	clients  *rate.Limiter
	counts   *counts
}

func newSampler(o Options, c *counts) *sampler {
	return &sampler{o.Fraction, rate.NewLimiter(rate.Limit(o.ClientTraces), burst(o.ClientTraces)), c}
}

// burst is how many requests at once are traced for clients that may have so many in a second.
func burst(perSecond float64) int {
	if perSecond == 0 {
		return 0
	}
	return max(1, int(min(perSecond, 1e6)))
}

// ShouldSample implements sdk.Sampler.
func (s *sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	result := sdk.SamplingResult{Decision: sdk.Drop, Tracestate: parent.TraceState()}
	if s.takes(parent) {
		result.Decision = sdk.RecordAndSample
	}
	return result
}

func (s *sampler) takes(parent trace.SpanContext) bool {
	switch {
	case !parent.IsValid():
		return s.chance()
	case !parent.IsRemote() || !parent.IsSampled():
		return parent.IsSampled()
	case s.clients.Allow():
		return true
	}
	s.counts.capped.Add(1)
	return s.chance()
}

func (s *sampler) chance() bool { return rand.Float64() < s.fraction } //nolint:gosec // no secret

// Description implements sdk.Sampler.
func (s *sampler) Description() string { return "tsdbridge" }
