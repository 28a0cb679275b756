package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// An exporterFunc takes spans.
type exporterFunc func([]sdk.ReadOnlySpan) error

// ExportSpans implements sdk.SpanExporter.
func (f exporterFunc) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error { return f(spans) }

// Shutdown implements sdk.SpanExporter.
func (exporterFunc) Shutdown(context.Context) error { return nil }

// tracerTo returns a tracer that samples everything, and hands its spans to an exporter.
func tracerTo(e sdk.SpanExporter, o Options) *Tracer {
	c := &counts{}
	return &Tracer{counts: c, provider: sdk.NewTracerProvider(sdk.WithSpanProcessor(newQueue(e, c, o)), sdk.WithSampler(newSampler(o, c)))}
}

// makeSpans makes so many spans of a request each.
func makeSpans(t *Tracer, n int) {
	for range n {
		_, span := t.provider.Tracer(scope).Start(context.Background(), "request")
		span.End()
	}
}

func expectCounts(t *testing.T, tracer *Tracer, sent, full, failed, most, capped float64) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(tracer)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "tsdbridge_tracing_")
			for _, l := range m.GetLabel() {
				name = l.GetValue()
			}
			got[name] = m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{"spans_sent_total": sent, "queue_full": full, "export_failed": failed, "request_limit": most, "client_traces_capped_total": capped} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Every span is counted: as sent, or as lost with its reason. The collector is stuck at first, then fails.
func TestSpansAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		stuck := make(chan struct{})
		var failure error
		tracer := tracerTo(exporterFunc(func([]sdk.ReadOnlySpan) error { <-stuck; return failure }),
			Options{Fraction: 1, Endpoint: "collector:4317", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		makeSpans(tracer, mostWaiting+100)
		synctest.Wait()
		expectCounts(t, tracer, 0, 100, 0, 0, 0)
		close(stuck)
		time.Sleep(time.Minute)
		expectCounts(t, tracer, mostWaiting, 100, 0, 0, 0)
		failure = errors.New("refused")
		makeSpans(tracer, 7)
		time.Sleep(time.Minute)
		expectCounts(t, tracer, mostWaiting, 100, 7, 0, 0)
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "err=refused") {
			t.Errorf("the log has no warning: %s", log.String())
		}
		if err := tracer.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A request has so many spans, and those beyond are counted.
func TestSpansOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := tracerTo(exporterFunc(func([]sdk.ReadOnlySpan) error { return nil }), Options{Fraction: 1})
		handler := tracer.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for range mostSpans + 5 {
				_, span := Start(r.Context(), "part")
				span.End(nil)
			}
		}))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/render", nil))
		time.Sleep(time.Minute)
		expectCounts(t, tracer, mostSpans+1, 0, 0, 5, 0)
		if err := tracer.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Clients get so many traces a second, and then what everybody has, whatever ids they choose.
func TestClientsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counts{}
		s := newSampler(Options{ClientTraces: 10}, c)
		asked := func() (taken int) {
			for i := range 100 {
				// TraceIDRatioBased would take this id at every fraction above 0.
				client := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: byte(i)}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
				ctx := trace.ContextWithSpanContext(context.Background(), client)
				if s.ShouldSample(sdk.SamplingParameters{ParentContext: ctx}).Decision == sdk.RecordAndSample {
					taken++
				}
			}
			return taken
		}
		if got := asked(); got != 10 || c.capped.Load() != 90 {
			t.Errorf("%d of 100 are traced and %d capped, want 10 and 90", got, c.capped.Load())
		}
		time.Sleep(time.Second)
		if got := asked(); got != 10 {
			t.Errorf("after a second %d of 100 are traced, want 10", got)
		}
		s.fraction = 1
		if got := asked(); got != 100 {
			t.Errorf("with all requests %d of 100 are traced", got)
		}
		if burst(0) != 0 || burst(0.1) != 1 || burst(1e300) != 1e6 {
			t.Error("bursts")
		}
	})
}

// A tracer that is off has the metrics.
func TestMetricsWithoutTracer(t *testing.T) {
	if n := testutil.CollectAndCount((*Tracer)(nil)); n != 5 {
		t.Errorf("%d metrics", n)
	}
	expectCounts(t, nil, 0, 0, 0, 0, 0)
}

// BenchmarkSampledOut is what a span costs in a request that is not traced, although there is a tracer.
func BenchmarkSampledOut(b *testing.B) {
	tracer := tracerTo(exporterFunc(func([]sdk.ReadOnlySpan) error { return nil }), Options{})
	defer func() { _ = tracer.Close(context.WithoutCancel(b.Context())) }()
	ctx, root := tracer.provider.Tracer(scope).Start(b.Context(), "request")
	defer root.End()
	ctx = context.WithValue(ctx, leftKey{}, &left{counts: tracer.counts})
	b.ReportAllocs()
	for b.Loop() {
		_, span := Start(ctx, "select")
		span.Number("series", 1)
		span.End(nil)
	}
}
