package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
)

// restoredRules are rules whose alerts wait, fire, and fire on although their cause has gone.
const restoredRules = `
groups:
  - name: restored
    interval: 500ms
    rules:
      - {alert: Waits, expr: broken > 0, for: 1h}
      - {alert: Fires, expr: broken > 0, for: 2s}
      - {alert: AtOnce, expr: broken > 0}
      - {alert: FiresOn, expr: mended > 0, keep_firing_for: 1h}
      - {alert: WaitsAndFiresOn, expr: broken > 0, for: 3s, keep_firing_for: 1h}
`

// A shownAlert is an alert as /api/v1/alerts shows it.
type shownAlert struct {
	Labels   map[string]string
	State    string
	ActiveAt time.Time
}

func (c client) alertList(t testing.TB) []shownAlert {
	t.Helper()
	var answer struct {
		Data struct{ Alerts []shownAlert }
	}
	if err := json.Unmarshal(c.Get(t, "/api/v1/alerts").ok(t).body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Alerts
}

// shownAlerts are alerts by name.
type shownAlerts map[string]shownAlert

func (c client) alerts(t testing.TB) shownAlerts {
	t.Helper()
	all := shownAlerts{}
	for _, a := range c.alertList(t) {
		all[a.Labels["alertname"]] = a
	}
	return all
}

// evaluatedAfter waits until the rules have been evaluated after a time.
func (c client) evaluatedAfter(t testing.TB, after time.Time) {
	t.Helper()
	eventually(t, waitTimeout, "the rules are evaluated", func() error {
		var answer struct {
			Data struct {
				Groups []struct{ LastEvaluation time.Time }
			}
		}
		if err := json.Unmarshal(c.Get(t, "/api/v1/rules").ok(t).body, &answer); err != nil {
			return err
		}
		groups := answer.Data.Groups
		if len(groups) != 1 || !groups[0].LastEvaluation.After(after) {
			return fmt.Errorf("groups %v", groups)
		}
		return nil
	})
}

// restoredBefore is how long alerts have waited before the kill: longer than a restart takes.
const restoredBefore = 20 * time.Second

// beginRestored has the alerts be active in the states of restoredRules.
func (c client) beginRestored(t testing.TB) {
	t.Helper()
	for _, name := range []string{"broken", "mended"} {
		c.Write(t, series([]prompb.Sample{sampleAt(time.Now(), 1)}, "__name__", name, "host", "a"))
	}
	want := map[string]string{"Waits": "pending", "Fires": "firing", "AtOnce": "firing", "FiresOn": "firing", "WaitsAndFiresOn": "firing"}
	eventually(t, waitTimeout, "the alerts are active", func() error {
		states := map[string]string{}
		alerts := c.alerts(t)
		for name, a := range alerts {
			states[name] = a.State
		}
		if diff := cmp.Diff(want, states); diff != "" {
			return errors.New(diff)
		}
		if waited := time.Since(alerts["Waits"].ActiveAt); waited < restoredBefore {
			return fmt.Errorf("it has waited for %s", waited)
		}
		return nil
	})
	c.Write(t, series([]prompb.Sample{sampleAt(time.Now(), 0)}, "__name__", "mended", "host", "a"))
	c.evaluatedAfter(t, time.Now())
	c.evaluatedAfter(t, time.Now())
}

// verdicts tell what became of alerts over an outage.
func (s shownAlerts) verdicts(before shownAlerts, restarted time.Time) map[string]string {
	all := map[string]string{}
	for name, a := range s {
		moved := a.ActiveAt.Sub(before[name].ActiveAt)
		switch {
		case moved < time.Second:
			all[name] = a.State + " as before"
		case a.ActiveAt.Before(restarted):
			all[name] = a.State + ", and the outage does not count"
		default:
			all[name] = a.State + " anew"
		}
	}
	return all
}

// TestAlertsRestored: after a kill and a restart, alerts are what they are in a Prometheus with the same rules and data.
func TestAlertsRestored(t *testing.T) {
	needE2E(t)
	t.Parallel()
	dir := t.TempDir()
	rules, config := filepath.Join(dir, "rules.yml"), filepath.Join(dir, "tsdbridge.yml")
	for name, text := range map[string]string{rules: restoredRules, config: fmt.Sprintf("rule_files: [%q]\n", rules)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promConfig := fmt.Sprintf("rule_files: [%q]\n", rules)
	flags := []string{"--web.enable-remote-write-receiver", "--rules.alert.for-grace-period=0s"}
	p, a := startPrometheusConfig(t, promConfig, flags...), startAdapter(t, "--config.file="+config, "--rules.alert.for-grace-period=0s")
	p.beginRestored(t)
	a.beginRestored(t)
	beforeP, beforeA := p.alerts(t), a.alerts(t)
	p.process.Kill()
	a.Kill()
	time.Sleep(3 * time.Second) // the outage
	restarted := time.Now()
	p = startPrometheusOver(t, promConfig, filepath.Join(p.dir, "data"), flags...)
	a.Restart(t)
	settled := func(c client, before shownAlerts) map[string]string {
		c.evaluatedAfter(t, time.Now()) // the first evaluation restores
		c.evaluatedAfter(t, time.Now())
		c.evaluatedAfter(t, time.Now())
		return c.alerts(t).verdicts(before, restarted)
	}
	want, got := settled(p.client, beforeP), settled(a.client, beforeA)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Prometheus, +ours)\n%s", diff)
	}
	if want["Waits"] != "pending, and the outage does not count" || want["Fires"] != "firing as before" {
		t.Errorf("Prometheus has not restored: %v", want)
	}
}
