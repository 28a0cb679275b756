package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// alertsConfig has a rule whose alert waits a while, and an Alertmanager.
func alertsConfig(t *testing.T, alertmanager string) (file string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tsdbridge.yml": fmt.Sprintf(`
global: {evaluation_interval: 250ms, external_labels: {site: here}}
rule_files: [rules.yml]
rules.alert.for-grace-period: 0s
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
`, alertmanager),
		"rules.yml": `
groups:
  - name: e2e
    rules:
      - {record: 'broken:max', expr: max by (host) (broken)}
      - {alert: Broken, expr: 'broken:max > 0', for: 20s, annotations: {summary: '{{ $labels.host }} in {{ $externalLabels.site }}'}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "tsdbridge.yml")
}

// activeSince waits until there is an alert in a state, and returns since when it is active.
func (a *adapter) activeSince(t *testing.T, state string) time.Time {
	t.Helper()
	var since time.Time
	eventually(t, waitTimeout, "the alert is "+state, func() error {
		var answer struct {
			Data struct {
				Alerts []struct {
					State    string
					ActiveAt time.Time
				}
			}
		}
		if err := json.Unmarshal(a.Get(t, "/api/v1/alerts").body, &answer); err != nil {
			return err
		}
		alerts := answer.Data.Alerts
		if len(alerts) != 1 || alerts[0].State != state {
			return fmt.Errorf("alerts %v", alerts)
		}
		since = alerts[0].ActiveAt
		return nil
	})
	return since
}

// An alert outlives kills of the adapter: while it waits, and while it fires. Alertmanager tells that it fires, and,
// after the cause has gone, that it is resolved.
func TestAlertmanager(t *testing.T) {
	needE2E(t)
	am := startAlertmanager(t)
	a := startAdapter(t, "--config.file="+alertsConfig(t, am.addr))
	broken := func(v float64) {
		a.Write(t, series([]prompb.Sample{sampleAt(time.Now(), v)}, "__name__", "broken", "host", "a"))
	}
	broken(1)
	a.activeSince(t, "pending")
	// long enough that a restart takes less
	eventually(t, waitTimeout, "the alert waits for ten seconds", func() error {
		if got := a.Query(t, "time() - ALERTS_FOR_STATE > 10", time.Now()); len(got) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	a.Kill()
	killed := time.Now()
	a.Restart(t)
	eventually(t, waitTimeout, "the state of the alert is restored", func() error {
		if since := a.activeSince(t, "pending"); since.After(killed) {
			return fmt.Errorf("active since %s, killed at %s", since, killed)
		}
		return nil
	})
	n := am.next(t)
	if n.Status != "firing" || n.Labels["alertname"] != "Broken" || n.Labels["site"] != "here" || n.Annotations["summary"] != "a in here" || !strings.Contains(n.GeneratorURL, "#/explore?l0=promql&q0=broken") {
		t.Errorf("notified %+v", n)
	}
	if r := a.Get(t, "/api/v1/alertmanagers"); !strings.Contains(string(r.body), `"activeAlertmanagers":[{"url":"http://`+am.addr+`/api/v2/alerts"}]`) {
		t.Errorf("Alertmanagers: %s", r)
	}
	a.Kill()
	a.Restart(t)
	a.activeSince(t, "firing")
	select {
	case n := <-am.notifications:
		t.Errorf("a kill while the alert fires made Alertmanager tell %+v", n)
	default:
	}
	broken(0)
	if n := am.next(t); n.Status != "resolved" || n.Labels["alertname"] != "Broken" {
		t.Errorf("notified %+v", n)
	}
}
