package e2e_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// TestOTLPKillUnderLoad crashes the adapter repeatedly while senders of OpenTelemetry's metrics repeat
// what was not acknowledged. Everything acknowledged is there, and each delta is in its sum once.
func TestOTLPKillUnderLoad(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, mode := range []string{"through", "buffered"} {
		t.Run(mode, func(t *testing.T) { testOTLPKill(t, "--write.mode="+mode) })
	}
}

func testOTLPKill(t *testing.T, flags ...string) {
	t.Helper()
	a := startAdapter(t, flags...)
	l := startOTLPLoad(t, a.client, 3)
	counting := []*sdkLoad{
		startSDK(t, a, "cumulative", sdk.CumulativeTemporalitySelector), startSDK(t, a, "delta", sdk.DeltaTemporalitySelector),
	}
	const requests = 60 // acknowledged before each crash
	for i := range scale.Of(t, "kills under load of OTLP", 4, 4, 40) {
		l.WaitAcked(t, requests)
		a.Kill()
		if i%2 == 1 {
			a.Relaunch(t)
			a.Kill()
		}
		a.Restart(t)
	}
	l.WaitAcked(t, requests)
	for _, s := range counting {
		s.Verify(t, a.client)
	}
	l.Verify(t, a.client)
	a.Kill()
	a.Restart(t)
	l.Verify(t, a.client)
}

// sdkLoad counts with the SDK of OpenTelemetry, and has its exporter send what was counted until it
// is acknowledged.
type sdkLoad struct {
	name    string
	stop    context.CancelFunc
	done    sync.WaitGroup
	counted int // read after done
	retries int
}

func startSDK(t testing.TB, a *adapter, name string, temporality sdk.TemporalitySelector) *sdkLoad {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &sdkLoad{name: name, stop: cancel}
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(a.URL(otlpPath)), otlpmetrichttp.WithTemporalitySelector(temporality),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}), otlpmetrichttp.WithTimeout(requestTimeout))
	if err != nil {
		t.Fatal(err)
	}
	s.done.Go(func() { s.count(ctx, t, exporter, temporality) })
	t.Cleanup(func() { s.stop(); s.done.Wait() })
	return s
}

// count counts until ctx ends, and then sends the rest.
func (s *sdkLoad) count(ctx context.Context, t testing.TB, exporter sdk.Exporter, temporality sdk.TemporalitySelector) {
	reader := sdk.NewManualReader(sdk.WithTemporalitySelector(temporality))
	provider := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "sdk-"+s.name))))
	meter := provider.Meter("kill")
	counter, err := meter.Int64Counter("orders")
	if err != nil {
		t.Error(err)
		return
	}
	histogram, err := meter.Float64Histogram("latency")
	if err != nil {
		t.Error(err)
		return
	}
	ending := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		s.counted++
		counter.Add(ending, 1)
		histogram.Record(ending, 0.25)
		var collected metricdata.ResourceMetrics
		if err := reader.Collect(ending, &collected); err != nil {
			t.Error(err)
			return
		}
		for begin := time.Now(); ; s.retries++ {
			err := exporter.Export(ending, &collected)
			if err == nil {
				break
			}
			if time.Since(begin) > 2*waitTimeout {
				t.Errorf("not acknowledged: %v", err)
				return
			}
			time.Sleep(20 * time.Millisecond) // a closed port refuses at once
		}
	}
}

// Verify ends the load and compares the newest values with what was counted.
func (s *sdkLoad) Verify(t testing.TB, c client) {
	t.Helper()
	s.stop()
	s.done.Wait()
	for _, name := range []string{"orders_total", "latency_count", "latency_sum"} {
		want := float64(s.counted)
		if name == "latency_sum" {
			want /= 4
		}
		query := fmt.Sprintf("%s{job=%q}", name, "sdk-"+s.name)
		got := c.Query(t, query, time.Now())
		if len(got) != 1 || got[0].points[0].value != strconv.FormatFloat(want, 'f', -1, 64) {
			t.Errorf("%s is %v, want %v", query, got, want)
		}
	}
	t.Logf("SDK, %s: counted to %d, %d exports again", s.name, s.counted, s.retries)
}
