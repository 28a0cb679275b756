package rules_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// evaluatorFunc is an evaluator.
type evaluatorFunc func(ctx context.Context, q rules.Question) (promql.Vector, error)

func (f evaluatorFunc) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	return f(ctx, q)
}

// instants returns the times and values of the series of a selector.
func (h *house) instants(selector string) (times []int64, values []float64) {
	h.Helper()
	now := time.Now().UnixMilli()
	q, err := h.shown.Querier(now-time.Hour.Milliseconds(), now)
	if err != nil {
		h.Fatal(err)
	}
	defer q.Close()
	set := q.Select(h.Context(), false, nil, promtest.Matchers(h, selector)...)
	for set.Next() {
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			at, v := it.At()
			times, values = append(times, at), append(values, v)
		}
	}
	if err := set.Err(); err != nil {
		h.Fatal(err)
	}
	return times, values
}

// steady checks that a series has a value at each instant up to which its group was evaluated, its time, and returns
// the first one.
func (h *house) steady(s *rules.Service, metric string) int64 {
	h.Helper()
	evaluated := s.Leases()[0].Evaluated.UnixMilli()
	times, values := h.instants(metric)
	for len(times) > 0 && times[len(times)-1] > evaluated {
		times = times[:len(times)-1]
	}
	for i, at := range times {
		if i > 0 && at-times[i-1] != 50 {
			h.Errorf("%s: %d ms between instants %d and %d of %d", metric, at-times[i-1], i-1, i, len(times))
		}
		if math.Abs(values[i]*1000-float64(at)) > 1 {
			h.Errorf("%s: value %v at %d", metric, values[i], at)
		}
	}
	if len(times) == 0 {
		h.Fatalf("%s has no values", metric)
	}
	return times[0]
}

const clockRules = `
groups:
  - name: first
    rules:
      - {record: clock, expr: time()}
      - {alert: Long, expr: vector(1), for: 1h}
      - {alert: Due, expr: vector(1), for: 5m}
      - {alert: Kept, expr: vector(1) unless broken == 0, for: 10s, keep_firing_for: 3s}
`

// The state in which a process has left a group is taken over exactly: alerts that are due fire at the first instant,
// those that wait do not wait longer, and those that fire on are not forgotten.
func TestTakeOver(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	var sent atomic.Int64
	h.o.Notify = func(_ context.Context, _ string, alerts ...*promrules.Alert) {
		for _, a := range alerts {
			if a.ResolvedAt.IsZero() && a.ValidUntil.Before(time.Now()) {
				t.Errorf("an alert that fires is sent with its end in the past: %+v", a)
			}
			sent.Add(1)
		}
	}
	s := rules.New(h.o)
	now := time.Now()
	last := now.Add(-20 * time.Second)
	since := map[string]time.Time{"Long": last.Add(-30 * time.Minute), "Due": last.Add(-5 * time.Minute), "Kept": last.Add(-time.Hour)}
	for name, at := range since {
		for back := 5 * time.Second; back >= 0; back -= 10 * time.Millisecond {
			h.write(`{__name__="ALERTS_FOR_STATE", alertname="`+name+`"}`, last.Add(-back), float64(at.Unix()))
		}
	}
	h.write(`{__name__="broken"}`, last.Add(-time.Second), 0) // the cause of Kept has gone
	set := h.set(clockRules)
	book.preset(last)
	s.Use(set, h.evaluators())
	h.run(s)
	h.await("the group is evaluated", func() bool {
		all := s.Leases()
		return len(all) > 0 && all[0].Evaluated.After(now)
	})
	h.await("the group is at the present", func() bool { return len(s.RuleGroups()) == 1 && !s.Behind() })
	if first := h.steady(s, "clock"); first < last.UnixMilli() || first > last.UnixMilli()+50 {
		t.Errorf("evaluated from %d on, the other process did until %d", first, last.UnixMilli())
	}
	for _, r := range s.AlertingRules() {
		alerts := r.ActiveAlerts()
		if r.Name() == "Kept" {
			continue // it has ended meanwhile
		}
		if len(alerts) != 1 || alerts[0].ActiveAt.Unix() != since[r.Name()].Unix() {
			t.Errorf("%s: %+v, was active since %s", r.Name(), alerts, since[r.Name()])
		}
	}
	firing := func(name, state string) (first, last int64) {
		times, values := h.instants(`ALERTS{alertname="` + name + `", alertstate="` + state + `"}`)
		for i, at := range times {
			if value.IsStaleNaN(values[i]) {
				continue
			}
			if first == 0 {
				first = at
			}
			last = at
		}
		return first, last
	}
	if first, _ := firing("Due", "firing"); first > last.UnixMilli()+50 || first == 0 {
		t.Errorf("Due fires from %d on, it was due at %d", first, last.UnixMilli())
	}
	if first, _ := firing("Due", "pending"); first != 0 {
		t.Errorf("Due is pending at %d", first)
	}
	// its cause has gone for a second; it fires for two more
	if _, end := firing("Kept", "firing"); end < last.UnixMilli()+1500 || end > last.UnixMilli()+2500 {
		t.Errorf("Kept fires until %d, %d after the takeover", end, end-last.UnixMilli())
	}
	if sent.Load() < 2 {
		t.Errorf("%d alerts were sent", sent.Load())
	}
}

// Instants at which the store fails, or the leases, are evaluated again.
func TestStoreAway(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	var asked atomic.Int32
	failing := evaluatorFunc(func(ctx context.Context, q rules.Question) (promql.Vector, error) {
		if n := asked.Add(1); n > 10 && n < 40 || n%7 == 0 {
			return nil, promql.ErrStorage{Err: promtest.ErrEngine}
		}
		return promQL{h.api}.Evaluate(ctx, q)
	})
	s := rules.New(h.o)
	s.Use(h.set("groups: [{name: first, rules: [{record: clock, expr: time()}]}]"), rules.Evaluators{rules.PromQL: failing})
	h.run(s)
	h.await("evaluations", func() bool { return asked.Load() > 100 })
	book.setAway(true)
	n := asked.Load()
	h.await("evaluations without leases", func() bool { return asked.Load() > n+50 })
	book.setAway(false)
	n = asked.Load()
	h.await("evaluations", func() bool { return asked.Load() > n+50 })
	h.steady(s, "clock")
}

// A process that was stopped while another one took its group over writes nothing then.
func TestPaused(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	var slept atomic.Int64
	h.o.Now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
	var pausedAt atomic.Int64
	evaluations := make(chan struct{}, 10000)
	paused := evaluatorFunc(func(ctx context.Context, q rules.Question) (promql.Vector, error) {
		evaluations <- struct{}{}
		if len(evaluations) == 20 && strings.Contains(q.Text, "time") {
			pausedAt.Store(q.At.UnixMilli())
			slept.Store(int64(time.Minute))
			book.take("b")
		}
		return promQL{h.api}.Evaluate(ctx, q)
	})
	s := rules.New(h.o)
	s.Use(h.set("groups: [{name: first, rules: [{record: clock, expr: time()}]}]"), rules.Evaluators{rules.PromQL: paused})
	h.run(s)
	h.await("the process pauses", func() bool { return pausedAt.Load() != 0 })
	h.await("the rule tells why it wrote nothing", func() bool {
		err := s.RuleGroups()[0].Rules()[0].LastError()
		return err != nil && strings.Contains(err.Error(), "another adapter")
	})
	times, _ := h.instants("clock")
	if len(times) == 0 || times[len(times)-1] >= pausedAt.Load() {
		t.Errorf("%d instants, the last one at %d, paused at %d", len(times), times[len(times)-1], pausedAt.Load())
	}
}

// A group that ends here gets stale markers, unless another process goes on with it.
func TestEnded(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	s := rules.New(h.o)
	const two = "groups: [{name: mine, rules: [{record: mine, expr: time()}]}, {name: others, rules: [{record: others, expr: time()}]}]"
	s.Use(h.set(two), h.evaluators())
	h.run(s)
	h.await("both are evaluated", func() bool {
		mine, _ := h.instants("mine")
		others, _ := h.instants("others")
		return len(mine) > 0 && len(others) > 0
	})
	book.takeOne("others", "b")
	s.Use(h.set("groups: []"), h.evaluators())
	h.await("a stale marker", func() bool {
		_, values := h.instants("mine")
		return value.IsStaleNaN(values[len(values)-1])
	})
	time.Sleep(300 * time.Millisecond) // the markers of both are written at the same time
	if _, values := h.instants("others"); value.IsStaleNaN(values[len(values)-1]) {
		t.Error("a stale marker in the series of another process")
	}
}

// The lease of a group is renewed while it is evaluated, however long that takes.
func TestLongEvaluation(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	long := evaluatorFunc(func(ctx context.Context, q rules.Question) (promql.Vector, error) {
		if book.renewed() < 3 {
			h.await("the lease is renewed", func() bool { return book.renewed() >= 3 || ctx.Err() != nil })
		}
		return promQL{h.api}.Evaluate(ctx, q)
	})
	s := rules.New(h.o)
	s.Use(h.set("groups: [{name: first, rules: [{record: clock, expr: time()}]}]"), rules.Evaluators{rules.PromQL: long})
	h.run(s)
	h.await("an evaluation", func() bool { times, _ := h.instants("clock"); return len(times) > 0 })
}

// A takeover with a thousand missed instants does not delay the alerts of the present: they are sent first. What
// was missed is made up beside, and then the alerts are as they would be without the failure.
func TestTakeOverFarBehind(t *testing.T) {
	const interval, missed, rulesOf = 500 * time.Millisecond, 300, `
groups:
  - name: first
    interval: 500ms
    rules:
      - {record: clock, expr: time()}
      - {alert: Now, expr: vector(1)}
      - {alert: Missed, expr: vector(1) unless cause == 0, for: 2m}
      - {alert: Before, expr: vector(1), for: 1h}
      - {alert: Kept, expr: vector(1) unless broken == 0, keep_firing_for: 5m}
`
	h := newHouse(t)
	book := newLeaseBook()
	h.o.Leases = testLeases{book, "a"}
	firstSent := map[string]time.Time{}
	var mu sync.Mutex
	h.o.Notify = func(_ context.Context, _ string, alerts ...*promrules.Alert) {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range alerts {
			if name := a.Labels.Get("alertname"); firstSent[name].IsZero() {
				firstSent[name] = time.Now()
			}
			if name := a.Labels.Get("alertname"); name == "Now" && !a.ResolvedAt.IsZero() {
				t.Errorf("an alert that fires was sent as resolved: %+v", a)
			}
		}
	}
	s := rules.New(h.o)
	now := time.Now()
	last := now.Add(-missed * interval)
	since := last.Add(-30 * time.Minute)
	for back := 6 * time.Minute; back >= 0; back -= interval {
		h.write(`{__name__="ALERTS_FOR_STATE", alertname="Before"}`, last.Add(-back), float64(since.Unix()))
		h.write(`{__name__="cause"}`, last.Add(-back), 0)
	}
	h.write(`{__name__="cause"}`, last, math.Float64frombits(value.StaleNaN)) // Missed is active since the failure
	h.write(`{__name__="broken"}`, last.Add(-time.Second), 0)
	book.preset(last)
	s.Use(h.set(rulesOf), h.evaluators())
	begin := time.Now()
	h.run(s)
	sent := func(name string) time.Time {
		mu.Lock()
		defer mu.Unlock()
		return firstSent[name]
	}
	h.await("an alert is sent", func() bool { return !sent("Now").IsZero() })
	if evaluated := s.Leases()[0].Evaluated; evaluated.After(last.Add(missed / 2 * interval)) {
		t.Errorf("an alert was sent only when the group was evaluated until %v", evaluated)
	}
	t.Logf("the first alert was sent after %v", sent("Now").Sub(begin))
	h.await("the group is at the present", func() bool {
		all := s.Leases()
		return !s.Behind() && len(all) > 0 && all[0].Evaluated.After(now)
	})
	t.Logf("%d instants were made up after %v", missed, time.Since(begin))
	times, values := h.instants("clock")
	for i := range times {
		if i > 0 && times[i]-times[i-1] != interval.Milliseconds() {
			t.Errorf("%d ms between instants %d and %d of %d", times[i]-times[i-1], i-1, i, len(times))
		}
		if math.Abs(values[i]*1000-float64(times[i])) > 1 {
			t.Errorf("value %v at %d", values[i], times[i])
		}
	}
	if len(times) < missed {
		t.Errorf("%d instants", len(times))
	}
	active := map[string]time.Time{}
	for _, r := range s.AlertingRules() {
		for _, a := range r.ActiveAlerts() {
			active[r.Name()] = a.ActiveAt
			if r.Name() == "Missed" && a.State != promrules.StateFiring {
				t.Errorf("an alert that is due since %v is %s", a.ActiveAt.Add(2*time.Minute), a.State)
			}
		}
	}
	if got := active["Before"]; got.Unix() != since.Unix() {
		t.Errorf("Before is active since %v, want %v", got, since)
	}
	if got := active["Missed"]; got.Sub(last).Abs() > 2*interval {
		t.Errorf("Missed is active since %v, want %v", got, last)
	}
	if got := active["Kept"]; got.IsZero() {
		t.Error("Kept was forgotten")
	}
}
