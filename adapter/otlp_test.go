package adapter

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// TestSDK has the SDK of OpenTelemetry send to an adapter, over HTTP and gRPC, in both temporalities, before and after a
// restart of the adapter. All that it counted is in the sums.
func TestSDK(t *testing.T) {
	for _, tc := range []struct {
		name     string
		selector sdk.TemporalitySelector
		exporter func(t *testing.T, a *Adapter, selector sdk.TemporalitySelector) sdk.Exporter
	}{
		{"cumulative", sdk.CumulativeTemporalitySelector, httpExporter},
		{"delta", sdk.DeltaTemporalitySelector, httpExporter},
		{"cumulative over gRPC", sdk.CumulativeTemporalitySelector, grpcExporter},
		{"delta over gRPC", sdk.DeltaTemporalitySelector, grpcExporter},
	} {
		t.Run(tc.name, func(t *testing.T) {
			selector := tc.selector
			o := storeTestOptions(t, write.Buffered)
			o.OTLPGRPCAddress = "127.0.0.1:0"
			a, stop := runAdapter(t, o)
			reader := sdk.NewManualReader(sdk.WithTemporalitySelector(selector))
			provider := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithResource(resource.NewSchemaless(
				attribute.String("service.name", "shop"), attribute.String("host.name", "web01"))))
			meter := provider.Meter("test")
			counter, err := meter.Float64Counter("orders", metric.WithUnit("1"))
			if err != nil {
				t.Fatal(err)
			}
			histogram, err := meter.Float64Histogram("latency", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 5))
			if err != nil {
				t.Fatal(err)
			}
			send := func() {
				counter.Add(t.Context(), 2.5, metric.WithAttributes(attribute.String("kind", "book")))
				histogram.Record(t.Context(), 3)
				export(t, tc.exporter(t, a, selector), reader)
			}
			send()
			send()
			stop()
			a, _ = runAdapter(t, o)
			send()
			for query, want := range map[string]string{
				`orders_total{job="shop",kind="book"}`: "7.5", `latency_seconds_count`: "3", `latency_seconds_bucket{le="5"}`: "3",
				`latency_seconds_bucket{le="1"}`: "0", `target_info{host_name="web01",job="shop"}`: "1",
			} {
				if got := instant(t, a, query); got != want {
					t.Errorf("%s is %q, want %s", query, got, want)
				}
			}
		})
	}
}

func httpExporter(t *testing.T, a *Adapter, selector sdk.TemporalitySelector) sdk.Exporter {
	t.Helper()
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL("http://"+a.Addr()+"/api/v1/otlp/v1/metrics"),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression), otlpmetrichttp.WithTemporalitySelector(selector))
	if err != nil {
		t.Fatal(err)
	}
	return exporter
}

func grpcExporter(t *testing.T, a *Adapter, selector sdk.TemporalitySelector) sdk.Exporter {
	t.Helper()
	exporter, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(a.GRPCAddr()), otlpmetricgrpc.WithInsecure(),
		otlpmetricgrpc.WithCompressor("gzip"), otlpmetricgrpc.WithTemporalitySelector(selector))
	if err != nil {
		t.Fatal(err)
	}
	return exporter
}

// export has the SDK's exporter send what a reader collects.
func export(t *testing.T, exporter sdk.Exporter, reader *sdk.ManualReader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		t.Fatal(err)
	}
	if err := exporter.Export(ctx, &collected); err != nil {
		t.Fatal(err)
	}
	if err := exporter.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

// instant returns the value of the only series of a query.
func instant(t *testing.T, a *Adapter, query string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr()+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Data.Result) != 1 {
		return ""
	}
	value, _ := answer.Data.Result[0].Value[1].(string)
	return value
}
