package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// monitoredShows are expressions of the dashboard, and what they show of an adapter that was killed under load.
var monitoredShows = []struct {
	title, expr string
	least, most float64
}{
	{"scrapes that failed", `count_over_time(up{job="tsdbridge"}[5m]) - sum_over_time(up{job="tsdbridge"}[5m])`, 1, 1000},
	{"starts", `changes(process_start_time_seconds{job="tsdbridge"}[5m])`, monitoredKills, monitoredKills},
	{"ready now", `tsdbridge_ready`, 1, 1},
	{"not ready, scrapes", `count_over_time(tsdbridge_ready[5m]) - sum_over_time(tsdbridge_ready[5m])`, 0, 1000},
	{"refuses points, scrapes", `sum_over_time(tsdbridge_store_refuses_writes[5m])`, 0, 1000},
	{"points received in a second", `sum(rate(tsdbridge_write_samples_received_total[5m]))`, 1, 1e9},
	{"points received and neither written nor refused", `sum(tsdbridge_write_samples_received_total) - sum(tsdbridge_write_samples_written_total) - sum(tsdbridge_write_samples_rejected_total) - sum(tsdbridge_write_samples_failed_total) - sum(tsdbridge_write_samples_deduplicated_total)`, 0, 0},
	{"points refused for good", `sum(tsdbridge_write_samples_rejected_total)`, 0, 0},
	{"write, p99 in seconds", `histogram_quantile(0.99, sum by (le) (rate(tsdbridge_write_request_duration_seconds_bucket[5m])))`, 0, 60},
	{"sync of the log, p99 in seconds", `histogram_quantile(0.99, sum by (le) (rate(tsdbridge_log_sync_duration_seconds_bucket[5m])))`, 0, 60},
	{"points replayed by the last start", `tsdbridge_head_points_replayed_total`, 1, 1e9},
	{"log in MiB", `sum(tsdbridge_log_size_bytes) / 2^20`, 0, 4096},
	{"rows in memory", `tsdbridge_head_rows`, 1, 1e9},
	{"series", `tsdbridge_store_series`, 1, 1e9},
	{"damaged files", `tsdbridge_embedded_damaged_files`, 0, 0},
	{"alert Replayed", `count(ALERTS{alertname="TsdbridgeReplayed", alertstate="firing"})`, 1, 1},
	{"alert Down, evaluations while it waited", `sum(count_over_time(ALERTS{alertname="TsdbridgeDown", alertstate="pending"}[5m]))`, 1, 1000},
}

const monitoredKills = 3

// A Prometheus with the rules of deploy/prometheus watches an adapter that is killed several times under load: the
// kills are seen, and the counters add up after them.
func TestMonitoredKills(t *testing.T) {
	needE2E(t)
	rules, err := filepath.Abs(filepath.Join(moduleRoot, "deploy", "prometheus", "rules", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t)
	p := startPrometheus(t, fmt.Sprintf("rule_files: [%q]\n", rules))
	if err := promtoolChecks(t, a); err != nil {
		t.Error(err)
	}
	p.Scrape(t, map[string]string{"tsdbridge": a.addr})
	load := startLoad(t, a.client)
	for kill := range monitoredKills {
		load.WaitAcked(t, 5000)
		p.await(t, fmt.Sprintf("changes(process_start_time_seconds[5m]) == %d", kill)) // it was scraped since its start
		a.Kill()
		p.await(t, `ALERTS{alertname="TsdbridgeDown", alertstate="pending"}`)
		a.Restart(t)
	}
	load.WaitAcked(t, 5000)
	load.Stop()
	p.await(t, fmt.Sprintf("changes(process_start_time_seconds[5m]) == %d and tsdbridge_ready == 1 and tsdbridge_write_requests_in_flight == 0", monitoredKills))
	p.await(t, `ALERTS{alertname="TsdbridgeReplayed", alertstate="firing"}`)
	t.Logf("%d samples acknowledged, %d requests sent again", load.Acked(), load.Retries())
	for _, w := range monitoredShows {
		got, err := p.value(t, w.expr)
		t.Logf("%-50s %g", w.title, got)
		if err != nil || got < w.least || got > w.most {
			t.Errorf("%s: %g, %v; want %g to %g", w.title, got, err, w.least, w.most)
		}
	}
}

// promtoolChecks fails if promtool finds fault with a metric of ours.
func promtoolChecks(t *testing.T, a *adapter) error {
	t.Helper()
	r, err := a.do(t.Context(), http.MethodGet, "/metrics", nil, nil)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), prometheusBinary(t, "promtool"), "check", "metrics") //nolint:gosec // ours
	cmd.Stdin = strings.NewReader(string(r.body))
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "tsdbridge_") || strings.HasPrefix(line, "error") {
			return fmt.Errorf("promtool check metrics: %s (%w)", line, err)
		}
	}
	return nil
}

// await waits until an expression has a result.
func (p *prometheusServer) await(t *testing.T, expr string) {
	t.Helper()
	eventually(t, 2*waitTimeout, expr, func() error { _, err := p.value(t, expr); return err })
}

// value evaluates an expression that has one series.
func (p *prometheusServer) value(t *testing.T, expr string) (float64, error) {
	t.Helper()
	r, err := p.do(t.Context(), http.MethodGet, "/api/v1/query?query="+url.QueryEscape(expr), nil, nil)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) != 1 {
		return 0, fmt.Errorf("%d series: %s", len(answer.Data.Result), r.body)
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}
