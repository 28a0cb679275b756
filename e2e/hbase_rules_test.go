package e2e_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sharedRules are evaluated each second. The value of clock is the instant of its evaluation, so a sample that is
// written late, twice or not at all shows. The alert is due a while after the test has begun to kill.
const sharedRules = `
groups:
  - name: clock
    interval: 1s
    rules:
      - {record: clock, expr: time()}
      - {record: 'clock:later', expr: clock}
      - {alert: Due, expr: vector(1), for: %s, annotations: {summary: due}}
`

// A ruleRun is two adapters with the same rules on one HBase.
type ruleRun struct {
	dir      string
	adapters [2]*adapter
	am       *alertmanagerServer
	began    time.Time
}

// sharedRulesDue is the time after which the alert of the shared rules fires.
const sharedRulesDue = 40 * time.Second

// testRules: two adapters share the evaluation of rules, while the one that evaluates is stopped for a while, killed,
// given other rules, and ended: the results have all instants once, and the alert fires when it is due.
func testRules(t *testing.T, s tables) {
	t.Helper()
	s.create(t)
	r := startRules(t, s)
	first := r.evaluating(t, 0, 1)
	r.evaluates(t, 3*time.Second)
	r.pause(t, first)
	r.kill(t)
	r.reload(t)
	n := r.am.next(t)
	if n.Status != "firing" || n.Labels["alertname"] != "Due" {
		t.Errorf("notified %+v", n)
	}
	last := r.evaluating(t, 0, 1)
	r.adapters[last].Stop(t)
	begin := time.Now()
	r.evaluating(t, 1-last)
	r.check(t, r.adapters[1-last])
	// a stop gives the lease back
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("after a stop the other adapter evaluates %v later", took)
	}
}

func startRules(t *testing.T, s tables) *ruleRun {
	t.Helper()
	r := &ruleRun{dir: t.TempDir(), am: startAlertmanager(t), began: time.Now()}
	r.write(t, "rules.yml", fmt.Sprintf(sharedRules, sharedRulesDue))
	r.write(t, "other.yml", "groups: [{name: other, interval: 1s, rules: [{record: other, expr: time()}]}]")
	for i := range r.adapters {
		// both have the rules at the same path, and each a configuration file of its own
		config := r.write(t, fmt.Sprintf("tsdbridge%d.yml", i), r.config("rules.yml", "other.yml"))
		r.adapters[i] = s.startAdapter(t, "--config.file="+config, "--web.enable-lifecycle")
	}
	return r
}

func (r *ruleRun) config(files ...string) string {
	return fmt.Sprintf("rule_files: [%s]\nalerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", strings.Join(files, ", "), r.am.addr)
}

func (r *ruleRun) write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// evaluations returns how many rules of the group an adapter has evaluated.
func (r *ruleRun) evaluations(t *testing.T, i int) float64 {
	t.Helper()
	return metric(t, r.adapters[i], `prometheus_rule_evaluations_total{rule_group="`+r.dir+`/rules.yml;clock"}`)
}

// metric returns the value of a line of /metrics, 0 if there is none.
func metric(t *testing.T, a *adapter, name string) float64 {
	t.Helper()
	for line := range strings.Lines(string(a.Get(t, "/metrics").body)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// evaluating waits until one of some adapters evaluates, and returns which.
func (r *ruleRun) evaluating(t *testing.T, of ...int) (which int) {
	t.Helper()
	before := map[int]float64{}
	for _, i := range of {
		before[i] = r.evaluations(t, i)
	}
	eventually(t, waitTimeout, "an adapter evaluates", func() error {
		for _, i := range of {
			if r.evaluations(t, i) > before[i] {
				which = i
				return nil
			}
		}
		return fmt.Errorf("none of %v", of)
	})
	return which
}

// evaluates waits for a time of evaluations, during which exactly one adapter evaluates.
func (r *ruleRun) evaluates(t *testing.T, d time.Duration) {
	t.Helper()
	holder := r.evaluating(t, 0, 1)
	other := r.evaluations(t, 1-holder)
	r.adapters[holder].reaches(t, "clock:later", time.Now().Add(d))
	if now := r.evaluations(t, 1-holder); now != other {
		t.Errorf("both adapters evaluate: %v and %v rules", now, r.evaluations(t, holder))
	}
}

// reaches waits until results of an instant are stored.
func (a *adapter) reaches(t *testing.T, name string, at time.Time) {
	t.Helper()
	eventually(t, waitTimeout, "results", func() error {
		all, err := a.query(t, "max_over_time({__name__=\""+name+"\"}[5m])", time.Now())
		if err != nil || len(all) == 0 {
			return fmt.Errorf("no results: %w", err)
		}
		if v, err := strconv.ParseFloat(all[0].points[0].value, 64); err != nil || v < float64(at.UnixMilli())/1000 {
			return fmt.Errorf("the last result is of %s, %w", all[0].points[0].value, err)
		}
		return nil
	})
}

// pause stops the adapter that evaluates until the other one has taken over.
func (r *ruleRun) pause(t *testing.T, holder int) {
	t.Helper()
	p := r.adapters[holder].process.cmd.Process
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r.evaluating(t, 1-holder)
	r.adapters[1-holder].reaches(t, "clock:later", begin.Add(2*time.Second))
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d was paused, %d evaluated %v later", holder, 1-holder, time.Since(begin))
	r.evaluates(t, 3*time.Second)
	r.check(t, r.adapters[1-holder])
}

// kill kills the adapter that evaluates. The other one takes over, and the killed one is started again.
func (r *ruleRun) kill(t *testing.T) {
	t.Helper()
	holder := r.evaluating(t, 0, 1)
	r.adapters[holder].Kill()
	begin := time.Now()
	r.evaluating(t, 1-holder)
	t.Logf("%d was killed, %d evaluates %v later", holder, 1-holder, time.Since(begin))
	r.adapters[holder].Restart(t)
	r.evaluates(t, 2*time.Second)
	r.check(t, r.adapters[holder])
}

// reload takes a group from one of the adapters, which is the one that evaluates it: the other one goes on with it.
func (r *ruleRun) reload(t *testing.T) {
	t.Helper()
	holder := r.evaluating(t, 0, 1)
	r.write(t, fmt.Sprintf("tsdbridge%d.yml", holder), r.config("other.yml"))
	r.adapters[holder].Post(t, "/-/reload", nil, nil).ok(t)
	begin := time.Now()
	r.evaluating(t, 1-holder)
	t.Logf("%d has the group no more, %d evaluates %v later", holder, 1-holder, time.Since(begin))
	r.write(t, fmt.Sprintf("tsdbridge%d.yml", holder), r.config("rules.yml", "other.yml"))
	r.adapters[holder].Post(t, "/-/reload", nil, nil).ok(t)
	r.evaluates(t, 2*time.Second)
	r.check(t, r.adapters[holder])
}

// check checks that all results are there once, and that the alert began once and fires when it is due.
func (r *ruleRun) check(t *testing.T, a *adapter) {
	t.Helper()
	for _, name := range []string{"clock", "clock:later", "other"} {
		a.steady(t, name)
	}
	since := a.Query(t, "ALERTS_FOR_STATE[5m]", time.Now())
	if len(since) != 1 {
		t.Fatalf("%d series of the state of alerts: %v", len(since), since)
	}
	for _, p := range since[0].points {
		if p.value != since[0].points[0].value {
			t.Errorf("the alert waits since %s, and at %s since %s", since[0].points[0].value, p.at, p.value)
			break
		}
	}
	for _, s := range a.Query(t, `ALERTS[5m]`, time.Now()) {
		first, last := instant(t, s.points[0]), instant(t, s.points[len(s.points)-1])
		waited := map[bool]time.Duration{true: first.Sub(time.Unix(0, 0)) - seconds(t, since[0].points[0].value), false: last.Sub(time.Unix(0, 0)) - seconds(t, since[0].points[0].value)}
		switch {
		case strings.Contains(s.labels, "pending") && waited[false] > sharedRulesDue+time.Second:
			t.Errorf("the alert is pending after %v", waited[false])
		case strings.Contains(s.labels, "firing") && (waited[true] < sharedRulesDue || waited[true] > sharedRulesDue+2*time.Second):
			t.Errorf("the alert fires after %v, want %v", waited[true], sharedRulesDue)
		}
	}
}

func seconds(t *testing.T, text string) time.Duration {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(v * float64(time.Second))
}

// steady checks that a rule was evaluated at all instants of its group.
func (a *adapter) steady(t *testing.T, name string) {
	t.Helper()
	all := a.Query(t, `{__name__="`+name+`"}[5m]`, time.Now())
	if len(all) != 1 {
		t.Fatalf("%d series of %s", len(all), name)
	}
	points := all[0].points
	for i, p := range points {
		// the API writes milliseconds, and the value has the nanoseconds
		if at := float64(instant(t, p).UnixMilli()) / 1000; math.Abs(at-seconds(t, p.value).Seconds()) > 0.0015 {
			t.Errorf("%s has the value %s at %s", name, p.value, p.at)
		}
		if i > 0 {
			if gap := instant(t, p).Sub(instant(t, points[i-1])); gap < 999*time.Millisecond || gap > 1001*time.Millisecond {
				t.Errorf("%s: %v between %s and %s", name, gap, points[i-1].at, p.at)
			}
		}
	}
	t.Logf("%s has %d instants", name, len(points))
}
