package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
)

// dial serves a handler over unencrypted HTTP/2, and returns a client of gRPC.
func dial(t *testing.T, d *door) *grpc.ClientConn {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(d.ServeGRPC), Protocols: new(http.Protocols)} //nolint:gosec // a test
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = server.Close()
		<-done
	})
	return conn
}

// gauges returns gauges of the names, of which those with an empty name can never be stored.
func gauges(names ...string) pmetric.Metrics {
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	for _, name := range names {
		m := metrics.AppendEmpty()
		m.SetName(name)
		p := m.SetEmptyGauge().DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.NewTimestampFromTime(promtest.Now()))
		p.SetDoubleValue(1.5)
	}
	return md
}

// TestCalls compares the answers to calls of a client of gRPC with what OTLP's specification has senders do.
func TestCalls(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(*Options)
		metrics  pmetric.Metrics
		code     codes.Code
		text     string
		rejected int64
		retry    bool
		stored   int
	}{
		{name: "good", metrics: gauges("a", "b"), stored: 2},
		{name: "nothing", metrics: pmetric.NewMetrics()},
		{name: "in part", metrics: gauges("a", ""), rejected: 1, text: "refused 1 of 2 data points", stored: 1},
		{name: "nothing good", metrics: gauges(""), code: codes.InvalidArgument, text: "refused 1 of 1 data points"},
		{name: "too large", change: func(o *Options) { o.BodyBytes = 10 }, metrics: gauges("a"), code: codes.InvalidArgument, text: "more than"},
		{name: "away", change: func(o *Options) { o.Appender = away{o.Appender} }, metrics: gauges("a"), code: codes.Unavailable, text: "away", retry: true},
		{name: "busy", change: func(o *Options) { o.Intake = writelimits.New(writelimits.Options{InFlightBytes: 1 << 20}) }, metrics: gauges("a"), code: codes.Unavailable, text: "too many writes at once", retry: true},
	} {
		for _, coding := range []string{encoding.Identity, "gzip"} {
			t.Run(tc.name+" "+coding, func(t *testing.T) {
				changes := []func(*Options){func(*Options) {}}
				if tc.change != nil {
					changes[0] = tc.change
				}
				d := newDoor(t, changes...)
				client := pmetricotlp.NewGRPCClient(dial(t, d))
				answer, err := client.Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(tc.metrics), grpc.UseCompressor(coding))
				s := status.Convert(err)
				text := s.Message()
				if err == nil {
					text = answer.PartialSuccess().ErrorMessage()
				}
				if s.Code() != tc.code || !strings.Contains(text, tc.text) || tc.text == "" && text != "" {
					t.Errorf("%v %q, want %v %q", s.Code(), text, tc.code, tc.text)
				}
				if err == nil && answer.PartialSuccess().RejectedDataPoints() != tc.rejected {
					t.Errorf("%d rejected", answer.PartialSuccess().RejectedDataPoints())
				}
				if got := retryDelay(s) > 0; got != tc.retry {
					t.Errorf("asked to send again: %v", got)
				}
				if got := strings.Count(d.dump(t), "\n"); got != tc.stored {
					t.Errorf("stored %q", d.dump(t))
				}
			})
		}
	}
}

// retryDelay returns after how many seconds a status asks to send again; 0: it does not.
func retryDelay(s *status.Status) int64 {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().GetSeconds()
		}
	}
	return 0
}

// away is an appender that fails for now.
type away struct{ storage.Appender }

func (away) Append(context.Context, *storage.Batch) error { return errors.New("away") }

// TestOtherCalls calls what is not served.
func TestOtherCalls(t *testing.T) {
	conn := dial(t, newDoor(t))
	for _, method := range []string{
		"/opentelemetry.proto.collector.trace.v1.TraceService/Export", "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
		"/opentelemetry.proto.collector.metrics.v1.MetricsService/Other", "/grpc.health.v1.Health/Check",
	} {
		err := conn.Invoke(t.Context(), method, &errdetails.RetryInfo{}, &errdetails.RetryInfo{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// framed returns a message of gRPC that claims a length.
func framed(flags byte, claimed uint32, content []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flags}, claimed), content...)
}

// TestFrames sends bodies that no client of gRPC sends.
func TestFrames(t *testing.T) {
	good := encode(t, gauges("a"))
	n := uint32(len(good)) //nolint:gosec // a small one
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, coding string
		body         []byte
		code         codes.Code
		text         string
	}{
		{"good", "", framed(0, n, good), codes.OK, ""},
		{"good, of a compressing sender", "gzip", framed(0, n, good), codes.OK, ""},
		{"empty", "", nil, codes.InvalidArgument, "ends before its message"},
		{"half a head", "", []byte{0, 0}, codes.InvalidArgument, "ends before its message"},
		{"claims 4 GiB", "", framed(0, 1<<32-1, good), codes.InvalidArgument, "a message of 4294967295 bytes"},
		{"cut", "", framed(0, n, good[1:]), codes.InvalidArgument, "of which"},
		{"two messages", "", append(framed(0, n, good), framed(0, n, good)...), codes.InvalidArgument, "more than one message"},
		{"flags", "", framed(2, n, good), codes.InvalidArgument, "flags 0x2"},
		{"compressed without a coding", "", framed(1, n, good), codes.InvalidArgument, "without grpc-encoding"},
		{"not compressed", "gzip", framed(1, n, good), codes.InvalidArgument, "gzip"},
		{"another coding", "zstd", framed(1, n, good), codes.Unimplemented, "grpc-encoding \"zstd\""},
		{"a bomb", "gzip", framed(1, uint32(bomb.Len()), bomb.Bytes()), codes.InvalidArgument, "more than 33554432 bytes"}, //nolint:gosec // a small one
		{"not OTLP", "", framed(0, 4, []byte("\xff\xff\xff\xff")), codes.InvalidArgument, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, exportMethod, bytes.NewReader(tc.body))
		r.ProtoMajor, r.ContentLength = 2, -1
		r.Header.Set("Content-Type", "application/grpc+proto")
		r.Header.Set("Grpc-Encoding", tc.coding)
		w := httptest.NewRecorder()
		d := newDoor(t)
		d.ServeGRPC(w, r)
		got := w.Header().Get(http.TrailerPrefix + "Grpc-Status")
		text, err := url.PathUnescape(w.Header().Get(http.TrailerPrefix + "Grpc-Message"))
		if want := strconv.Itoa(int(tc.code)); err != nil || got != want || !strings.Contains(text, tc.text) {
			t.Errorf("%s: status %s %q, want %s %q", tc.name, got, text, want, tc.text)
		}
		if held := d.options.Intake.Gate().Bytes(); held != 0 {
			t.Errorf("%s: %d bytes are held", tc.name, held)
		}
	}
}

// TestNoCalls sends requests that are no calls of gRPC.
func TestNoCalls(t *testing.T) {
	for _, tc := range []struct {
		method, contentType string
		major, want         int
	}{
		{http.MethodPost, "application/grpc", 1, http.StatusHTTPVersionNotSupported},
		{http.MethodGet, "application/grpc", 2, http.StatusMethodNotAllowed},
		{http.MethodPost, "application/x-protobuf", 2, http.StatusUnsupportedMediaType},
		{http.MethodPost, "application/grpc+json", 2, http.StatusUnsupportedMediaType},
		{http.MethodPost, "application/grpc-web", 2, http.StatusUnsupportedMediaType},
		{http.MethodPost, "text/plain", 2, http.StatusUnsupportedMediaType},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tc.method, exportMethod, http.NoBody)
		r.ProtoMajor = tc.major
		r.Header.Set("Content-Type", tc.contentType)
		w := httptest.NewRecorder()
		newDoor(t).ServeGRPC(w, r)
		if w.Code != tc.want {
			t.Errorf("%+v: %d", tc, w.Code)
		}
	}
}

// TestLateCall: a call whose message does not come in time may be sent again.
func TestLateCall(t *testing.T) {
	if code := (answer{status: http.StatusRequestTimeout}).code(); code != codes.DeadlineExceeded {
		t.Error(code)
	}
}
