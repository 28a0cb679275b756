package adapter

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A spanReceiver is an OpenTelemetry collector.
type spanReceiver struct {
	mu   sync.Mutex // guards all below
	all  []*spans.Span
	auth string
}

// ServeHTTP takes spans in OTLP over HTTP.
func (s *spanReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	text, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(text, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth = r.Header.Get("Authorization")
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			s.all = append(s.all, scope.Spans...)
		}
	}
}

// tree prints the spans of a trace below one another, without those of Prometheus' engine.
func (s *spanReceiver) tree(trace string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	var below func(parent []byte, indent string)
	below = func(parent []byte, indent string) {
		var names []string
		children := map[string][][]byte{}
		for _, span := range s.all {
			if hexID(span.TraceId) == trace && bytes.Equal(span.ParentSpanId, parent) {
				names = append(names, span.Name)
				children[span.Name] = append(children[span.Name], span.SpanId)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			b.WriteString(indent + name + "\n")
			for _, id := range children[name] {
				below(id, indent+" ")
			}
		}
	}
	below(clientSpan, "")
	return b.String()
}

func hexID(id []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range id {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// clientSpan is the span of the client in the traces of the test.
var clientSpan = []byte{1, 2, 3, 4, 5, 6, 7, 8} //nolint:gochecknoglobals // a constant

// TestTraces reads a query of each language as a tree of spans, below that of the client.
func TestTraces(t *testing.T) {
	received := &spanReceiver{}
	server := httptest.NewServer(received)
	t.Cleanup(server.Close)
	tracer, err := tracing.New(t.Context(), tracing.Options{Endpoint: server.URL + "/v1/traces", ClientTraces: 10, Headers: []string{"Authorization=Bearer x"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	before := otel.GetTracerProvider() // Prometheus' engine takes it from there
	otel.SetTracerProvider(tracer.Provider())
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	o := DefaultOptions()
	o.Engine, o.Tracer = tables.EngineMemory, tracer
	a, stop := runAdapter(t, o)
	refs, errs := a.store.Resolve(t.Context(), []storage.Series{{Metric: "up", Tags: []storage.Tag{{Key: "job", Value: "a"}}}})
	if errs != nil && errs[0] != nil {
		t.Fatal(errs)
	}
	now := time.Now().UnixMilli()
	if err := a.store.Append(t.Context(), &storage.Batch{Refs: refs, Times: []int64{now - 1000}, Values: []float64{1}}); err != nil {
		t.Fatal(err)
	}
	for trace, c := range map[string]struct {
		path string
		want []string
	}{
		"0af7651916cd43dd8448eb211c80319c": {"/api/v1/query?query=sum(up)", []string{"GET /api/v1/query\n query\n", "evaluate\n", "find\n", "select\n", "read rows\n", "get rows\n", "encode\n"}},
		"1af7651916cd43dd8448eb211c80319c": {"/render?target=seriesByTag('name=up')&format=json", []string{"GET /render\n", " query\n", "  parse\n", "  evaluate\n", "find\n", "select\n", "read rows\n", "encode\n"}},
		"2af7651916cd43dd8448eb211c80319c": {"/api/query?start=1h-ago&m=sum:up", []string{"GET /api/query\n encode\n parse\n query\n  evaluate\n", "find\n", "select\n", "read rows\n"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Traceparent", "00-"+trace+"-0102030405060708-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get(tracing.Header) != trace {
			t.Errorf("%s: %s, trace %q", c.path, resp.Status, resp.Header.Get(tracing.Header))
		}
		defer func() {
			tree := received.tree(trace)
			for _, part := range c.want {
				if !strings.Contains(tree, part) {
					t.Errorf("%s: the spans have no %q:\n%s", c.path, part, tree)
				}
			}
		}()
	}
	stop() // an answer may arrive before the span of its request ends
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if received.auth != "Bearer x" {
		t.Errorf("Authorization %q", received.auth)
	}
}
