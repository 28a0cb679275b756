package tracing

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/credentials"
)

// The bounds of what waits to be sent, and of an attempt to send.
const (
	mostWaiting = 2048
	sendTime    = 10 * time.Second
	logEvery    = time.Minute
)

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

// A queue hands ended spans to the library's batches, and exports these. It counts what is lost: the
// library's own queue drops without a word, so it is never let become full.
type queue struct {
	sdk.SpanProcessor // of the batches

	exporter sdk.SpanExporter
	counts   *counts
	waiting  atomic.Int64
	logger   *slog.Logger
	endpoint string
	last     atomic.Int64 // when a failure was logged, nanoseconds since 1970
}

// newQueue returns a queue before an exporter.
func newQueue(exporter sdk.SpanExporter, c *counts, o Options) *queue {
	q := &queue{exporter: exporter, counts: c, logger: o.Logger, endpoint: o.Endpoint}
	q.SpanProcessor = sdk.NewBatchSpanProcessor(exporting{q}, sdk.WithMaxQueueSize(mostWaiting), sdk.WithBatchTimeout(time.Second), sdk.WithExportTimeout(sendTime))
	return q
}

// OnEnd implements sdk.SpanProcessor.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > mostWaiting {
		q.waiting.Add(-1)
		q.counts.full.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// exporting is the exporter of a queue.
type exporting struct{ *queue }

// Shutdown implements sdk.SpanExporter.
func (e exporting) Shutdown(ctx context.Context) error { return e.exporter.Shutdown(ctx) }

// ExportSpans implements sdk.SpanExporter. It logs a failure once in a while; the spans are lost.
func (e exporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.exporter.ExportSpans(ctx, spans)
	e.waiting.Add(-int64(len(spans)))
	if err == nil {
		e.counts.sent.Add(int64(len(spans)))
		return nil
	}
	e.counts.failed.Add(int64(len(spans)))
	last, now := e.last.Load(), time.Now().UnixNano()
	if now-last > int64(logEvery) && e.last.CompareAndSwap(last, now) {
		e.logger.Warn("spans are lost: the collector does not take them; see --tracing.endpoint and the collector's log", "endpoint", e.endpoint, "spans", len(spans), "err", err)
	}
	return nil // logged
}
