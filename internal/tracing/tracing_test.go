package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOffCostsNothing counts the memory of spans that nobody records.
func TestOffCostsNothing(t *testing.T) {
	ctx, failed := context.Background(), errors.New("failed")
	text := strings.Repeat("x", 2*mostText)
	if n := testing.AllocsPerRun(100, func() {
		_, span := Start(ctx, "select")
		span.Number("series", 1)
		span.Text("query.text", text)
		span.End(failed)
	}); n != 0 {
		t.Errorf("a span that is off takes memory %v times", n)
	}
}

// TestNoTracer passes requests on as they are.
func TestNoTracer(t *testing.T) {
	tracer, err := New(t.Context(), Options{})
	if tracer != nil || err != nil {
		t.Fatal(tracer, err)
	}
	next := http.NewServeMux()
	if tracer.Handler(next) != http.Handler(next) {
		t.Error("the handler without a tracer is another one")
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHandlerSamples traces what the client asks for, and nothing of probes.
func TestHandlerSamples(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	tracer, err := New(t.Context(), Options{Endpoint: collector.URL, ClientTraces: 10, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.WithoutCancel(t.Context())) })
	const id = "0af7651916cd43dd8448eb211c80319c"
	handler := tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct{ path, parent, want string }{
		{"/render", "00-" + id + "-0102030405060708-01", id},
		{"/render", "00-" + id + "-0102030405060708-00", ""},
		{"/render", "nonsense", ""},
		{"/-/healthy", "00-" + id + "-0102030405060708-01", ""},
		{"/metrics", "00-" + id + "-0102030405060708-01", ""},
	} {
		r, w := httptest.NewRequest(http.MethodGet, c.path, nil), httptest.NewRecorder()
		r.Header.Set("Traceparent", c.parent)
		handler.ServeHTTP(w, r)
		if got := w.Header().Get(Header); got != c.want || w.Code != http.StatusTeapot {
			t.Errorf("%s with traceparent %s: trace %q, want %q; status %d", c.path, c.parent, got, c.want, w.Code)
		}
	}
}

// TestValidate names the flag that cannot work, and no secret.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Fraction: 7}, "--tracing.sampling-fraction"},
		{Options{ClientTraces: -1}, "--tracing.client-traces-per-second"},
		{Options{Headers: []string{"secret"}}, ""}, // there is no endpoint
		{Options{Endpoint: "localhost:4317", Fraction: 1}, ""},
		{Options{Endpoint: "ftp://localhost"}, "--tracing.endpoint"},
		{Options{Endpoint: "http://"}, "--tracing.endpoint"},
		{Options{Endpoint: "localhost"}, "--tracing.endpoint"},
		{Options{Endpoint: "localhost:4317", Fraction: 2}, "--tracing.sampling-fraction"},
		{Options{Endpoint: "localhost:4317", Headers: []string{"secret"}}, "--tracing.header"},
		{Options{Endpoint: "localhost:4317", CAFile: "absent"}, "--tracing.tls-ca-file"},
	} {
		err := c.o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
}

// BenchmarkOff is what a span costs when there is no tracer.
func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, span := Start(ctx, "select")
		span.Number("series", 1)
		span.End(nil)
	}
}
