package tracing

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header has the id of the trace in answers to requests that are sampled.
const Header = "X-Trace-Id"

// Handler makes a span of each request to next. It takes the trace that the client names in
// traceparent (W3C). Without a tracer it is next.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	tracer := t.provider.Tracer(scope)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/-/") || r.URL.Path == "/metrics" && !r.URL.Query().Has("query") {
			next.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		if !span.IsRecording() {
			next.ServeHTTP(w, r)
			return
		}
		path := r.URL.Path
		span.SetName(r.Method + " " + short(path))
		span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", short(path)), attribute.String("client.address", r.RemoteAddr))
		w.Header().Set(Header, span.SpanContext().TraceID().String())
		counted := &countedWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(counted, r.WithContext(t.bounded(ctx, mostSpans)))
		span.SetAttributes(attribute.Int("http.response.status_code", counted.status), attribute.Int64("http.response.body.size", counted.bytes))
		if counted.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(counted.status))
		}
	})
}

// short cuts the path of a request.
func short(path string) string {
	if len(path) > mostPath {
		return strings.ToValidUTF8(path[:mostPath], "") + "…"
	}
	return path
}

// mostPath is how many bytes of a path are recorded.
const mostPath = 200

// countedWriter notes the status and the length of an answer.
type countedWriter struct {
	http.ResponseWriter

	status int
	bytes  int64
}

// WriteHeader notes the status.
func (w *countedWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write counts what is written.
func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher, which streamed remote read asks for.
func (w *countedWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (w *countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
