// Package tracing sends spans of requests to an OpenTelemetry collector: what a request did, in which
// order, and for how long. Whoever does a part of a request begins a span with Start; nothing is
// measured, and no memory is taken, unless the request has a span that is sampled. It never makes a
// request wait: spans that do not fit the queue are dropped.
package tracing

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is the name under which spans are made.
const scope = "github.com/tsdbridge/tsdbridge"

// A Tracer makes the spans of requests. A nil Tracer makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	counts   *counts
}

// New returns a tracer; nil without an endpoint. It connects later, and again after failures.
func New(ctx context.Context, o Options) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	exporter, err := o.exporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("--tracing.endpoint=%s: %w", o.Endpoint, err)
	}
	c := &counts{}
	return &Tracer{counts: c, provider: sdk.NewTracerProvider(
		sdk.WithSpanProcessor(newQueue(exporter, c, o)),
		sdk.WithSampler(newSampler(o, c)),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "tsdbridge"), attribute.String("service.version", o.Version))),
	)}, nil
}

// Provider returns what libraries make their spans with. Without a tracer these record nothing.
func (t *Tracer) Provider() trace.TracerProvider {
	if t == nil {
		return noop.NewTracerProvider()
	}
	return t.provider
}

// Close sends what waits, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// mostSpans is how many spans one request has; the others are dropped. Those of Prometheus' engine,
// some for each part of a query, are not counted.
const mostSpans = 1000

type leftKey struct{}

// bounded returns a context in which Start makes so many spans.
func (t *Tracer) bounded(ctx context.Context, n int64) context.Context {
	l := &left{counts: t.counts}
	l.spans.Store(n)
	return context.WithValue(ctx, leftKey{}, l)
}

// left is how many spans a request may still have.
type left struct {
	spans  atomic.Int64
	counts *counts
}

// take reports whether there may be one more.
func (l *left) take() bool {
	if l == nil || l.spans.Add(-1) >= 0 {
		return true
	}
	l.counts.most.Add(1)
	return false
}

// Start begins a span below that of ctx, if that is sampled. End must be called.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	if l, _ := ctx.Value(leftKey{}).(*left); !l.take() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, Span{span}
}

// A Span is a part of a request. The zero Span records nothing.
type Span struct{ span trace.Span }

// On reports whether the span is recorded: what is computed for it alone is computed then.
func (s Span) On() bool { return s.span != nil }

// Text records a text, which is shortened.
func (s Span) Text(key, value string) {
	if s.span != nil {
		if len(value) > mostText {
			value = strings.ToValidUTF8(value[:mostText], "") + "…"
		}
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// mostText is how many bytes of a text are recorded.
const mostText = 1000

// Number records a number.
func (s Span) Number(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span, with an error or nil.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// ID returns the id of the trace that ctx belongs to if it is sampled, otherwise an empty text.
func ID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}
