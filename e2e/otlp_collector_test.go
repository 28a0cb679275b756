package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestCollector has an OpenTelemetry Collector send the same metrics to the adapter, which is killed
// meanwhile, and to Prometheus' own receiver. Both answer the same.
func TestCollector(t *testing.T) {
	needE2E(t)
	t.Parallel()
	const config = "otlp: {promote_resource_attributes: [host.name]}\n"
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t, "--config.file="+file)
	p := startPrometheus(t, config, "--web.enable-otlp-receiver", "--enable-feature=otlp-deltatocumulative")
	c := startCollector(t, map[string]string{
		"otlp_http/ours":             fmt.Sprintf("endpoint: %q, sending_queue: {enabled: false}", a.URL("/api/v1/otlp")),
		"otlp_http/theirs":           fmt.Sprintf("endpoint: %q, sending_queue: {enabled: false}, compression: none", p.URL("/api/v1/otlp")),
		"prometheus_remote_write/rw": fmt.Sprintf("endpoint: %q, remote_write_queue: {enabled: false}, external_labels: {via: rw}", a.URL("/api/v1/write")),
	})
	const steps = 8
	s := &shop{began: time.Now().Add(-(steps + 2) * shopStep).Truncate(time.Second)}
	for n := range steps {
		md := s.metrics()
		if n == steps/2 {
			a.Kill()
			sent := make(chan reply, 1)
			go func() { sent <- c.collect(t, md) }()
			a.Restart(t)
			(<-sent).ok(t)
			continue
		}
		c.collect(t, md).ok(t)
	}
	comparison{got: a.client, want: p.client, from: s.began, to: s.at(steps - 1).AsTime()}.run(t, []promqlCase{
		{`{__name__=~".+",via=""}[10m]`, false},
		{`rate(cart_requests_Cumulative_total{via=""}[2m])`, false},
		{`target_info{via=""}`, false},
		{`histogram_quantile(0.9, rate(pay_duration_Delta_seconds{via=""}[1m]))`, false},
		{`histogram_quantile(0.9, sum by (le, host_name) (rate(pay_latency_Cumulative_milliseconds_bucket{via=""}[1m])))`, false},
		{`sum by (instance) (cart_size1_bytes{via=""}) * on (instance) group_left (process_pid) target_info{via=""}`, false},
	})
	compareExemplars(t, a.client, p.client, s)
	checkShopMetadata(t, a.client)
	checkRemoteWriteOfCollector(t, a.client, s)
	checkRefusedByCollector(t, c, a, s)
}

// collect sends metrics to the Collector.
func (c *otelCollector) collect(t testing.TB, md pmetric.Metrics) reply {
	body, header := otlpBody(t, md, 0)
	r, err := c.do(t.Context(), http.MethodPost, "/v1/metrics", header, body)
	if err != nil {
		t.Error(err)
	}
	return r
}

// compareExemplars compares the exemplars of what is cumulative. Of deltas, Prometheus keeps the first exemplar alone.
func compareExemplars(t *testing.T, got, want client, s *shop) {
	t.Helper()
	read := func(c client) (all []map[string]any) {
		form := url.Values{"query": {`{__name__=~".+Cumulative.+",via=""}`}, "start": {stamp(s.began)}, "end": {stamp(time.Now())}}
		c.API(t, "/api/v1/query_exemplars", form, &all)
		return all
	}
	ours, theirs := read(got), read(want)
	if len(theirs) < 6 {
		t.Errorf("Prometheus has exemplars of %d series", len(theirs))
	}
	if d := cmp.Diff(byText(t, theirs), byText(t, ours)); d != "" {
		t.Errorf("exemplars (-Prometheus +tsdbridge)\n%s", d)
	}
}

// byText returns values by their series, as text.
func byText(t *testing.T, all []map[string]any) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, one := range all {
		name, err := json.Marshal(one["seriesLabels"])
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(one["exemplars"])
		if err != nil {
			t.Fatal(err)
		}
		texts[string(name)] = string(text)
	}
	return texts
}

// checkShopMetadata checks what Prometheus answers for scraped metrics alone.
func checkShopMetadata(t *testing.T, c client) {
	t.Helper()
	type metadata struct{ Type, Help, Unit string }
	var all map[string][]metadata
	c.API(t, "/api/v1/metadata", nil, &all)
	for name, want := range map[string]metadata{
		"cart_size0_bytes":                {"gauge", "The size0 of a cart", "bytes"},
		"cart_requests_Cumulative_total":  {"counter", "The requests.Cumulative of a cart", ""},
		"pay_latency_Delta_milliseconds":  {"histogram", "The latency.Delta of a pay", "milliseconds"},
		"pay_duration_Cumulative_seconds": {"histogram", "The duration.Cumulative of a pay", "seconds"},
		"cart_quantiles_seconds":          {"summary", "The quantiles of a cart", "seconds"},
		"cart_level_Cumulative":           {"gauge", "The level.Cumulative of a cart", ""},
	} {
		if d := cmp.Diff([]metadata{want}, all[name]); d != "" {
			t.Errorf("metadata of %s (-want +got)\n%s", name, d)
		}
	}
}

// checkRemoteWriteOfCollector compares what came through the Collector's other exporter.
func checkRemoteWriteOfCollector(t *testing.T, c client, s *shop) {
	t.Helper()
	at := s.at(s.step - 1).AsTime()
	for _, name := range []string{"cart_size0_bytes", "cart_requests_Cumulative_total", "pay_latency_Cumulative_milliseconds_bucket", "pay_quantiles_seconds"} {
		expr := fmt.Sprintf(`count(%[1]s{via="rw"} == ignoring (via, host_name, otel_scope_name, otel_scope_version) %[1]s{via=""}) == count(%[1]s{via=""})`, name)
		if got := c.Query(t, expr, at); len(got) != 1 {
			t.Errorf("%s: %v\nby remote write: %v\nby OTLP: %v", expr, got, c.Query(t, name+`{via="rw"}`, at), c.Query(t, name+`{via=""}`, at))
		}
	}
}

// checkRefusedByCollector sends what can be stored in part, and what cannot be stored at all.
func checkRefusedByCollector(t *testing.T, c *otelCollector, a *adapter, s *shop) {
	t.Helper()
	md := pmetric.NewMetrics()
	all := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	addNumber(namedMetric(all, "good").SetEmptyGauge().DataPoints(), 0, s.at(s.step), 1)
	addNumber(namedMetric(all, "strange").SetEmptySum().DataPoints(), 0, s.at(s.step), 1)
	c.collect(t, md)
	if _, err := c.process.out.line("Partial success", "strange"); err != nil {
		t.Error(err)
	}
	if got := a.Query(t, `good{via=""}`, s.at(s.step).AsTime()); len(got) != 1 {
		t.Errorf("good: %v", got)
	}
	all.RemoveIf(func(m pmetric.Metric) bool { return m.Name() == "good" })
	if r := c.collect(t, md); r.status/100 != 4 && !strings.Contains(string(r.body), "strange") {
		t.Errorf("all refused: %v", r)
	}
}
