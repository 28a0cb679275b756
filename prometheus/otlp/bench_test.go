package otlp

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/tsdbridge/tsdbridge/storage"
)

// keepsNothing is a store whose appends cost nothing.
type keepsNothing struct{ storage.Appender }

func (keepsNothing) Append(context.Context, *storage.Batch) error { return nil }

// BenchmarkGauges sends known series of a service: 100 metrics with 20 series of 5 attributes.
func BenchmarkGauges(b *testing.B) {
	d := newDoor(b, func(o *Options) { o.Appender = keepsNothing{o.Appender} })
	md, first := one("m")
	all := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	first.SetEmptyGauge()
	for range 99 {
		all.AppendEmpty().SetEmptyGauge()
	}
	for i, m := range all.All() {
		m.SetName(fmt.Sprint("http.server.metric.", i))
		for n := range 20 {
			p := m.Gauge().DataPoints().AppendEmpty()
			p.SetTimestamp(second(5))
			p.SetDoubleValue(float64(n))
			p.Attributes().PutStr("http.route", fmt.Sprint("/api/v1/things/", n))
			p.Attributes().PutStr("http.request.method", "GET")
			p.Attributes().PutInt("http.response.status_code", 200)
			p.Attributes().PutStr("server.address", "shop.example.com")
			p.Attributes().PutStr("url.scheme", "https")
		}
	}
	benchmark(b, d, md)
}

// BenchmarkHistograms sends known histograms of 15 buckets.
func BenchmarkHistograms(b *testing.B) {
	d := newDoor(b, func(o *Options) { o.Appender = keepsNothing{o.Appender} })
	md, m := one("h")
	h := m.SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	for n := range 100 {
		p := h.DataPoints().AppendEmpty()
		p.SetTimestamp(second(5))
		p.SetStartTimestamp(second(500))
		p.Attributes().PutInt("n", int64(n))
		p.BucketCounts().FromRaw(make([]uint64, 16))
		p.ExplicitBounds().FromRaw([]float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000})
	}
	benchmark(b, d, md)
}

// BenchmarkExponential sends known exponential histograms of 40 buckets.
func BenchmarkExponential(b *testing.B) {
	d := newDoor(b, func(o *Options) { o.Appender = keepsNothing{o.Appender} })
	md, m := one("h")
	h := m.SetEmptyExponentialHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	counts := make([]uint64, 40)
	for i := range counts {
		counts[i] = uint64(1000 * i)
	}
	for n := range 100 {
		p := h.DataPoints().AppendEmpty()
		p.SetTimestamp(second(5))
		p.SetStartTimestamp(second(500))
		p.Attributes().PutInt("n", int64(n))
		p.SetScale(2)
		p.Positive().SetOffset(-40)
		p.Positive().BucketCounts().FromRaw(counts)
		p.SetCount(780_000)
		p.SetSum(1)
	}
	benchmark(b, d, md)
}

func benchmark(b *testing.B, d *door, md pmetric.Metrics) {
	b.Helper()
	body := encode(b, md)
	for range 2 {
		if status, text := post(b, d, "application/x-protobuf", body); status != http.StatusOK {
			b.Fatal(text)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		post(b, d, "application/x-protobuf", body)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*md.DataPointCount()), "ns/point")
}
