// Package tracing sends spans of requests to an OpenTelemetry collector: what a request did, in which
// order, and for how long. Whoever does a part of a request begins a span with Start; nothing is
// measured, and no memory is taken, unless the request has a span that is sampled. It never makes a
// request wait: spans that do not fit the queue are dropped.
package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/credentials"
)

// scope is the name under which spans are made.
const scope = "github.com/tsdbridge/tsdbridge"

// Options say where spans go.
type Options struct {
	// Endpoint is --tracing.endpoint: host:port of OTLP over gRPC, or a URL http(s)://host:port/path of
	// OTLP over HTTP; empty: there are no spans.
	Endpoint string
	// Fraction is --tracing.sampling-fraction: of the requests that come without a decision.
	Fraction float64
	// Insecure is --tracing.insecure: gRPC without TLS.
	Insecure bool
	// CAFile is --tracing.tls-ca-file: who signs the collector's certificate; empty: the system's.
	CAFile string
	// Headers is --tracing.header: NAME=VALUE of each request. The values are secrets.
	Headers []string
	Version string
	Logger  *slog.Logger
}

// The bounds of what waits to be sent, and of an attempt to send.
const (
	mostWaiting = 2048
	sendTime    = 10 * time.Second
	logEvery    = time.Minute
)

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if !(o.Fraction >= 0 && o.Fraction <= 1) {
		return errors.New("--tracing.sampling-fraction must be between 0 and 1")
	}
	if o.Endpoint == "" {
		return nil
	}
	if !o.reachable() {
		return fmt.Errorf("--tracing.endpoint=%s: want host:port for gRPC, or http(s)://host:port/v1/traces", o.Endpoint)
	}
	if _, err := o.headers(); err != nil {
		return err
	}
	_, err := o.tls()
	return err
}

// reachable reports whether the endpoint has the form of a URL, or of host:port.
func (o Options) reachable() bool {
	if strings.Contains(o.Endpoint, "://") {
		u, err := url.Parse(o.Endpoint)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
	}
	_, port, err := net.SplitHostPort(o.Endpoint)
	return err == nil && port != ""
}

// headers reads the list of headers. Errors do not have the values.
func (o Options) headers() (map[string]string, error) {
	all := map[string]string{}
	for i, header := range o.Headers {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--tracing.header: the %d. one is not NAME=VALUE", i+1)
		}
		all[name] = value
	}
	return all, nil
}

func (o Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile == "" {
		return config, nil
	}
	text, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--tracing.tls-ca-file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tracing.tls-ca-file=%s has no certificate", o.CAFile)
	}
	return config, nil
}

// A Tracer makes the spans of requests. A nil Tracer makes none.
type Tracer struct {
	provider *sdk.TracerProvider
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
	logged := &loggedExporter{SpanExporter: exporter, logger: o.Logger, endpoint: o.Endpoint}
	return &Tracer{sdk.NewTracerProvider(
		sdk.WithBatcher(logged, sdk.WithMaxQueueSize(mostWaiting), sdk.WithBatchTimeout(time.Second), sdk.WithExportTimeout(sendTime)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Fraction))),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "tsdbridge"), attribute.String("service.version", o.Version))),
	)}, nil
}

func (o Options) exporter(ctx context.Context) (sdk.SpanExporter, error) {
	headers, _ := o.headers() // checked by Validate
	config, err := o.tls()
	if err != nil {
		return nil, err
	}
	if strings.Contains(o.Endpoint, "://") {
		options := []otlptracehttp.Option{
			otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHeaders(headers),
			otlptracehttp.WithTimeout(sendTime), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		}
		if strings.HasPrefix(o.Endpoint, "https:") { // without TLS the library refuses its settings
			options = append(options, otlptracehttp.WithTLSClientConfig(config))
		}
		return otlptracehttp.New(ctx, options...)
	}
	security := otlptracegrpc.WithTLSCredentials(credentials.NewTLS(config))
	if o.Insecure {
		security = otlptracegrpc.WithInsecure()
	}
	return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(o.Endpoint), security, otlptracegrpc.WithHeaders(headers),
		otlptracegrpc.WithTimeout(sendTime), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}))
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

// loggedExporter logs a failure once in a while. Its spans are lost.
type loggedExporter struct {
	sdk.SpanExporter

	logger   *slog.Logger
	endpoint string
	last     atomic.Int64 // when one was logged, nanoseconds since 1970
}

// ExportSpans implements trace.SpanExporter.
func (e *loggedExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	last, now := e.last.Load(), time.Now().UnixNano()
	if err != nil && now-last > int64(logEvery) && e.last.CompareAndSwap(last, now) {
		e.logger.Warn("spans are lost: the collector does not take them; see --tracing.endpoint", "endpoint", e.endpoint, "spans", len(spans), "err", err)
	}
	return nil // logged
}

// Start begins a span below that of ctx, if that is sampled. End must be called.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
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
