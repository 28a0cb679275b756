package adapter

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// gauge returns what the SDK collects of a gauge.
func gauge(name string) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{Resource: resource.Empty(), ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: name, Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Time: time.Now(), Value: 1.5}}}},
	}}}}
}

// sendGauge has the SDK's exporter send a gauge.
func sendGauge(t *testing.T, a *Adapter, name string, options ...otlpmetricgrpc.Option) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exporter, err := otlpmetricgrpc.New(ctx, append(options, otlpmetricgrpc.WithEndpoint(a.GRPCAddr()))...)
	must(t, err)
	defer func() { must(t, exporter.Shutdown(ctx)) }()
	return exporter.Export(ctx, gauge(name))
}

// TestGRPCProtected sends with the right password, a wrong one and none, over TLS. That the HTTP port has no HTTP/2 does
// not hold for gRPC, which cannot do without.
func TestGRPCProtected(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	must(t, err)
	o := storeTestOptions(t, write.Through)
	o.OTLPGRPCAddress = "127.0.0.1:0"
	_, o.WebConfigFile = tlsConfig(t, "http_server_config: {http2: false}\nbasic_auth_users: {ann: "+string(hash)+"}\n")
	a, stop := runAdapter(t, o)
	defer stop()
	secure := otlpmetricgrpc.WithTLSCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // whose certificate it is does not matter here
	for password, want := range map[string]codes.Code{"ann:secret": codes.OK, "ann:other": codes.Unauthenticated, "": codes.Unauthenticated} {
		header := map[string]string{}
		if password != "" {
			header["authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(password))
		}
		if err := sendGauge(t, a, "m", secure, otlpmetricgrpc.WithHeaders(header)); status.Code(err) != want {
			t.Errorf("%q: %v, want %v", password, err, want)
		}
	}
	if err := sendGauge(t, a, "m", otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{})); err == nil {
		t.Error("taken without TLS")
	}
}

// h2 is a connection of HTTP/2 without TLS, frame by frame.
type h2 struct {
	net.Conn
	*http2.Framer

	t *testing.T
}

func dialH2(t *testing.T, a *Adapter) h2 {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.GRPCAddr())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(http2.ClientPreface))
	must(t, err)
	c := h2{conn, http2.NewFramer(conn, conn), t}
	must(t, c.WriteSettings())
	return c
}

// head returns the head of a call.
func head(more ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := append([]string{
		":method", http.MethodPost, ":scheme", "http", ":path", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers",
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}) // nothing is indexed
	}
	return b.Bytes()
}

// call begins a call, without an end.
func (c h2) call(stream uint32, more ...string) {
	c.t.Helper()
	must(c.t, c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head(more...), EndHeaders: true}))
}

// until reads frames until one is found, or the connection ends; it returns what ended it.
func (c h2) until(found func(http2.Frame) bool) error {
	for {
		f, err := c.ReadFrame()
		if err != nil || found(f) {
			return err
		}
	}
}

// TestGRPCIdle has ten thousand calls wait without a body. They take little memory, and a sender is served beside them.
func TestGRPCIdle(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.OTLPGRPCAddress = "127.0.0.1:0"
	a, _ := runAdapter(t, o)
	before := memoryInUse()
	const connections, calls = 313, 32
	for range connections {
		c := dialH2(t, a)
		for i := range calls {
			c.call(uint32(2*i + 1)) //nolint:gosec // a small one
		}
	}
	if err := sendGauge(t, a, "m", otlpmetricgrpc.WithInsecure()); err != nil {
		t.Error(err)
	}
	if took := memoryInUse() - before; took > 400<<20 {
		t.Errorf("%d idle calls take %d MiB", connections*calls, took>>20)
	} else {
		t.Logf("%d MiB", took>>20)
	}
}

func memoryInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // no such memory
}

// TestGRPCHostile sends frames that have no end, too many calls and calls that break off. A sender is served after each.
func TestGRPCHostile(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.OTLPGRPCAddress = "127.0.0.1:0"
	a, _ := runAdapter(t, o)
	for name, attack := range map[string]func(t *testing.T, c h2){
		"a head without an end": func(t *testing.T, c h2) {
			must(t, c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head()}))
			piece := bytes.Repeat([]byte{0x00, 0x01, 'a', 0x01, 'b'}, 2000)
			for n := 0; n < 64<<20; n += len(piece) {
				if c.WriteContinuation(1, false, piece) != nil {
					return
				}
			}
			t.Error("64 MiB of a head were read")
		},
		"a long head": func(t *testing.T, c h2) {
			c.call(1, "x", strings.Repeat("a", 12<<10))
			// it is answered, or the connection ends
			_ = c.until(func(f http2.Frame) bool { _, ok := f.(*http2.HeadersFrame); return ok })
		},
		"too many calls": func(t *testing.T, c h2) {
			for i := range uint32(100) {
				c.call(2*i + 1)
			}
			refused := 0
			must(t, c.until(func(f http2.Frame) bool {
				if _, ok := f.(*http2.RSTStreamFrame); ok {
					refused++
				}
				return refused == 100-32
			}))
		},
		"a call that breaks off": func(t *testing.T, c h2) {
			c.call(1)
			must(t, c.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3}))
			must(t, c.WriteRSTStream(1, http2.ErrCodeCancel))
		},
		"a connection that breaks off": func(t *testing.T, c h2) {
			c.call(1)
			must(t, c.WriteData(1, false, []byte{0, 0, 0, 0, 100, 1, 2, 3}))
		},
		"a call that was cut": func(t *testing.T, c h2) {
			c.call(1)
			must(t, c.WriteData(1, true, []byte{0, 0, 0, 0, 100, 1, 2, 3}))
			must(t, c.until(func(f http2.Frame) bool { return f.Header().Flags.Has(http2.FlagDataEndStream) }))
		},
		"HTTP/1.1": func(t *testing.T, _ h2) {
			resp, err := http.Post("http://"+a.GRPCAddr()+"/", "application/grpc", nil)
			must(t, err)
			must(t, resp.Body.Close())
			if resp.StatusCode != http.StatusHTTPVersionNotSupported {
				t.Errorf("status %d", resp.StatusCode)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialH2(t, a)
			must(t, c.SetDeadline(time.Now().Add(time.Minute)))
			attack(t, c)
			must(t, c.Close())
			must(t, sendGauge(t, a, "m", otlpmetricgrpc.WithInsecure()))
		})
	}
	deadline := time.Now().Add(time.Minute)
	for held := 1.0; held != 0; held = metricValue(t, a, "tsdbridge_write_in_flight_bytes") {
		if time.Now().After(deadline) {
			t.Fatalf("%v bytes are held", held)
		}
		runtime.Gosched()
	}
}

// metricValue returns the value of a gauge of the process.
func metricValue(t *testing.T, a *Adapter, name string) float64 {
	t.Helper()
	families, err := a.registry.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}
