package e2e_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// TestFederate: /federate and the search answer as a real Prometheus with the same samples, in all formats, and a
// Prometheus scrapes the adapter.
func TestFederate(t *testing.T) {
	needE2E(t)
	t.Parallel()
	const config = "global: {scrape_interval: 1s, external_labels: {region: eu, job: ignored}}\n"
	peer := startPrometheusConfig(t, config, "--web.enable-remote-write-receiver", "--enable-feature=search-api")
	file := filepath.Join(t.TempDir(), "us.yml")
	if err := os.WriteFile(file, []byte("global:\n  external_labels: {region: eu, job: ignored}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t, "--config.file="+file)
	now := time.Now().UnixMilli()
	series := federated(now)
	for _, to := range []client{peer.client, a.client} {
		if r := to.Write(t, series...); r.status/100 != 2 {
			t.Fatal(r)
		}
	}
	for _, path := range []string{
		"/federate?match[]=up", "/federate?match[]={__name__=~\".%2B\"}", "/federate?match[]=up&match[]={job=\"a\"}", "/federate", "/federate?match[]=none",
		"/federate?match[]=up{", "/federate?match[]={job=\"\"}",
		"/api/v1/search/metric_names?search[]=u", "/api/v1/search/label_names?include_score=true", "/api/v1/search/label_values?label=job&search[]=B&case_sensitive=false",
		"/api/v1/search/label_values", "/api/v1/search/metric_names?limit=0", "/api/v1/search/label_values?label=job&limit=1&sort_by=alpha&sort_dir=dsc",
	} {
		for _, accept := range []string{"", "text/plain;version=0.0.4", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "text/plain;version=1.0.0;escaping=allow-utf-8"} {
			got, want := get(t, a.client, path, accept), get(t, peer.client, path, accept)
			if got.status != want.status || got.header.Get("Content-Type") != want.header.Get("Content-Type") || !bytes.Equal(got.body, want.body) {
				t.Errorf("%s, %s: %d %s\n%s\nwant %d %s\n%s", path, accept, got.status, got.header.Get("Content-Type"), got.body, want.status, want.header.Get("Content-Type"), want.body)
			}
		}
	}
	scraper := startPrometheusConfig(t, fmt.Sprintf(federateConfig, a.addr))
	eventually(t, 2*waitTimeout, "federated samples", func() error {
		all, err := scraper.query(t, `up{instance="x", job="a"}`, time.Now())
		if err != nil || len(all) != 1 || all[0].points[0].value != "1" {
			return fmt.Errorf("%v, %w", all, err)
		}
		return nil
	})
}

const federateConfig = `
scrape_configs:
  - job_name: federate
    scrape_interval: 1s
    honor_labels: true
    metrics_path: /federate
    params: {"match[]": ['{__name__=~".+"}']}
    static_configs: [{targets: [%q]}]
`

// federated are series with a sample of each kind.
func federated(now int64) []prompb.TimeSeries {
	text := func(pairs ...string) (ls []prompb.Label) {
		for i := 0; i < len(pairs); i += 2 {
			ls = append(ls, prompb.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		return ls
	}
	floats := func(values ...float64) (out []prompb.Sample) {
		for i, v := range values {
			out = append(out, prompb.Sample{Timestamp: now - int64(len(values)-i)*1000, Value: v})
		}
		return out
	}
	native := &histogram.Histogram{Count: 5, Sum: 3, Schema: 1, ZeroThreshold: 0.001, ZeroCount: 1, PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{2, 0}}
	custom := &histogram.Histogram{Count: 4, Sum: 9, Schema: histogram.CustomBucketsSchema, CustomValues: []float64{1, 2, 5}, PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{1, 2}}
	return []prompb.TimeSeries{
		{Labels: text("__name__", "dotted.name", "a.b", "ü"), Samples: floats(7)},
		{Labels: text("__name__", "native", "job", "b"), Histograms: []prompb.Histogram{prompb.FromIntHistogram(now-1000, native)}},
		{Labels: text("__name__", "custom", "job", "B2"), Histograms: []prompb.Histogram{prompb.FromIntHistogram(now-1000, custom)}},
		{Labels: text("__name__", "old"), Samples: []prompb.Sample{{Timestamp: now - 310_000, Value: 1}}},
		{Labels: text("__name__", "stale"), Samples: floats(1, math.Float64frombits(value.StaleNaN))},
		{Labels: text("__name__", "up", "instance", "x", "job", "a"), Samples: floats(0, 1)},
		{Labels: text("__name__", "up", "instance", "y", "region", "us"), Samples: floats(1e300)},
	}
}

// get asks with a header Accept.
func get(t *testing.T, c client, path, accept string) reply {
	t.Helper()
	header := map[string]string{}
	if accept != "" {
		header["Accept"] = accept
	}
	at, query, _ := bytes.Cut([]byte(path), []byte("?"))
	form, err := url.ParseQuery(string(query))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.do(t.Context(), http.MethodGet, string(at)+"?"+form.Encode(), header, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
