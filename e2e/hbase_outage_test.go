package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestHBaseOutage runs one adapter, without a restart, through times when HBase or its tables are
// missing.
func TestHBaseOutage(t *testing.T) {
	needE2E(t)
	t.Parallel()
	c, _ := startHBase(t)
	s := tables{cluster: c, name: "outage"}
	restartHBase := func() {
		begin := time.Now()
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("HBase up again after %v", time.Since(begin).Round(time.Millisecond))
	}
	timeout := "--hbase.timeout=2s"
	config := &ruleRun{dir: t.TempDir()}
	config.write(t, "rules.yml", "groups: [{name: clock, interval: 1s, rules: [{record: clock, expr: time()}]}]")
	rules := "--config.file=" + config.write(t, "tsdbridge.yml", "rule_files: [rules.yml]")

	// Before the tables exist.
	a := launchAdapter(t, s.args(timeout, withCarbon, rules)...)
	a.waitNotReady(t, "table outage is missing", "tsdbridge tables create")
	a.refusesWrites(t)
	s.create(t)
	t.Logf("ready %v after the tables were created", a.WaitReady(t))
	want := pointSet{}
	labels := []string{"__name__", "outage", "host", "a"}
	want.write(t, a.client, samples(at(1), 1), labels...)

	// HBase stops in order and comes back.
	restartHBase()
	t.Logf("ready %v after HBase was", a.WaitReady(t))
	want.write(t, a.client, samples(at(2), 2), labels...)

	// Both replicas of a pair send through an outage that is longer than the failover timeout.
	pair := s.startPair(t, timeout)
	paired := pairedSamples{pair.adapters[0]}
	paired.reaches(t, 2*time.Second)

	// HBase is gone: known and new series are refused, queries fail, and another adapter can start.
	c.KillHBase()
	begin := time.Now()
	a.waitNotReady(t, "table outage", c.ZooKeeper())
	a.refusesWrites(t, labels...)
	a.refusesWrites(t)
	if r := a.Get(t, "/-/healthy"); r.status != http.StatusOK {
		t.Errorf("healthy answers %v", r)
	}
	a.refusesQueries(t)
	// Carbon's protocol has no refusals: its lines wait.
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("outage.carbon 1 %d\noutage.carbon 2 %d\noutage.new;host=b 3 %d\n", second(0), second(10), second(0)))
	b := launchAdapter(t, s.args(timeout, rules)...)
	b.waitNotReady(t, "table outage", c.ZooKeeper())
	eventually(t, waitTimeout, "an outage of twice the failover timeout", func() error {
		if d := time.Since(begin); d < 2*sharedFailover {
			return fmt.Errorf("%v", d)
		}
		return nil
	})
	restartHBase()
	t.Logf("ready %v after HBase was; the adapter started without it %v", a.WaitReady(t), b.WaitReady(t))
	want.write(t, a.client, samples(at(3), 3), labels...)
	lines := fmt.Sprintf("outage.carbon %d=1 %d=2\noutage.new;host=b %d=3", second(0), second(10), second(0))
	a.renders(t, epoch.Add(-time.Second), epoch.Add(time.Minute), lines, "outage.carbon", "seriesByTag('host=b')")
	for _, one := range []*adapter{a, b} {
		want.check(t, "after the outage", ourPoints(t, one.client, "outage", epoch, epoch.Add(time.Hour)))
	}
	paired.reaches(t, 2*time.Second)
	pair.stop()
	paired.check(t, 0)
	// Rules make up all instants that they missed, by one of the adapters.
	a.reaches(t, "clock", time.Now())
	a.steady(t, "clock")
}

// waitNotReady waits until the adapter reports that it is not ready, with these reasons.
func (a *adapter) waitNotReady(t testing.TB, why ...string) {
	t.Helper()
	eventually(t, waitTimeout, "adapter not ready", func() error {
		r := a.Get(t, "/-/ready")
		for _, text := range why {
			if r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), text) {
				return fmt.Errorf("ready answers %v, want 503 and %q", r, text)
			}
		}
		return nil
	})
}

// refusesQueries fails the test unless a query soon ends with an error that states the reason.
func (a *adapter) refusesQueries(t testing.TB) {
	t.Helper()
	const soon = 15 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	r, err := a.do(ctx, http.MethodGet, "/api/v1/query?query=outage[1h]&time="+stamp(epoch.Add(time.Hour)), nil, nil)
	if err != nil || r.status/100 != 5 || !strings.Contains(string(r.body), "no answer from HBase") {
		t.Errorf("query without HBase: %v %v; want 5xx and what is missing", r, err)
	}
}

// refusesWrites fails the test unless the answer to a write asks to repeat it later.
func (a *adapter) refusesWrites(t testing.TB, labels ...string) {
	t.Helper()
	if labels == nil {
		labels = []string{"__name__", "refused", "host", "b"}
	}
	r := a.Write(t, series(samples(at(3), -3), labels...))
	after, err := strconv.Atoi(r.header.Get("Retry-After"))
	if r.status != http.StatusServiceUnavailable || err != nil || after < 1 {
		t.Errorf("write without HBase: %v, Retry-After %q; want 503 and seconds", r, r.header.Get("Retry-After"))
	}
}
