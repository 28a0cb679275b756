package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// spanCollector is an OpenTelemetry collector, over gRPC and HTTP. It takes spans with the right password.
type spanCollector struct {
	collector.UnimplementedTraceServiceServer

	mu     sync.Mutex // guards all below
	traces map[string][]string
}

// collectorPassword is what --tracing.header sends.
const collectorPassword = "Bearer TOKEN"

func newSpanCollector() *spanCollector { return &spanCollector{traces: map[string][]string{}} }

// Export implements the service of the collector.
func (c *spanCollector) Export(ctx context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	of, _ := metadata.FromIncomingContext(ctx)
	if got := strings.Join(of.Get("Authorization"), ","); got != collectorPassword {
		return nil, fmt.Errorf("the password is %q", got)
	}
	c.take(r)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP takes spans over HTTP.
func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != collectorPassword {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.take(&request)
}

func (c *spanCollector) take(r *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := fmt.Sprintf("%x", span.GetTraceId())
				c.traces[id] = append(c.traces[id], span.GetName())
			}
		}
	}
}

// names returns the spans of a trace.
func (c *spanCollector) names(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.traces[id], ",")
}

// serveGRPC serves the collector over gRPC, without TLS if there is no certificate.
func (c *spanCollector) serveGRPC(t *testing.T, certificate *tls.Certificate) (address string) {
	t.Helper()
	var options []grpc.ServerOption
	if certificate != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(certificate)))
	}
	server := grpc.NewServer(options...)
	collector.RegisterTraceServiceServer(server, c)
	return serveUntilEnd(t, server.Serve, server.Stop)
}

// serveHTTP serves the collector over HTTP, without TLS if there is no certificate.
func (c *spanCollector) serveHTTP(t *testing.T, certificate *tls.Certificate) (address string) {
	t.Helper()
	server := &http.Server{Handler: c}
	serve := server.Serve
	if certificate != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	return serveUntilEnd(t, serve, func() { _ = server.Close() })
}

func serveUntilEnd(t *testing.T, serve func(net.Listener) error, stop func()) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { _ = serve(listener) }) // its error is that it was stopped
	t.Cleanup(func() { stop(); wait.Wait() })
	return listener.Addr().String()
}

// TestTracing has the program send the spans of a query to a collector over each protocol, without TLS
// and with a certificate of an authority of its own, and tells of a collector that it does not trust.
func TestTracing(t *testing.T) {
	needE2E(t)
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir)
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := "--tracing.tls-ca-file=" + filepath.Join(dir, "server.crt")
	c := newSpanCollector()
	for name, flags := range map[string][]string{
		"gRPC":          {"--tracing.endpoint=" + c.serveGRPC(t, nil), "--tracing.insecure"},
		"gRPC with TLS": {"--tracing.endpoint=" + c.serveGRPC(t, &certificate), trusted},
		"HTTP":          {"--tracing.endpoint=http://" + c.serveHTTP(t, nil) + "/v1/traces"},
		"HTTPS":         {"--tracing.endpoint=https://" + c.serveHTTP(t, &certificate) + "/v1/traces", trusted},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAdapter(t, append(flags, "--tracing.header=Authorization="+collectorPassword, "--tracing.sampling-fraction=1")...)
			r := a.Get(t, "/api/v1/query?query=up")
			trace := r.header.Get("X-Trace-Id")
			eventually(t, waitTimeout, "the spans of a query", func() error {
				if got := c.names(trace); !strings.Contains(got, "query") || !strings.Contains(got, "find") || !strings.Contains(got, "GET /api/v1/query") {
					return fmt.Errorf("trace %q has the spans %q", trace, got)
				}
				return nil
			})
			if flags := a.Get(t, "/api/v1/status/flags"); bytes.Contains(flags.body, []byte("TOKEN")) {
				t.Error("the page of flags shows the password of the collector")
			}
			last := a.Get(t, "/api/v1/labels").header.Get("X-Trace-Id")
			a.Stop(t)
			if got := c.names(last); !strings.Contains(got, "GET /api/v1/labels") {
				t.Errorf("an orderly end loses spans: %q", got)
			}
			if strings.Contains(a.Log(), "spans are lost") {
				t.Error(a.Log())
			}
		})
	}
	t.Run("not trusted", func(t *testing.T) {
		a := startAdapter(t, "--tracing.endpoint="+c.serveGRPC(t, &certificate), "--tracing.sampling-fraction=1")
		a.Get(t, "/api/v1/labels")
		if line, err := a.process.out.line("spans are lost", "level=WARN"); err != nil || !strings.Contains(line, "certificate") {
			t.Error(line, err)
		}
		eventually(t, waitTimeout, "lost spans are counted", func() error {
			const metric = `tsdbridge_tracing_spans_dropped_total{reason="export_failed"} `
			_, value, ok := strings.Cut(string(a.Get(t, "/metrics").body), metric)
			if !ok || strings.HasPrefix(value, "0\n") {
				return fmt.Errorf("%t, %.3s", ok, value)
			}
			return nil
		})
	})
}
