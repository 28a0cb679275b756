package rules_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	promquery "github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A house is a store with the query API and the parts of a Service over it.
type house struct {
	*testing.T
	api      *promquery.API
	o        rules.Options
	shown    *queryable.Store
	appender promstorage.Appendable
}

func newHouse(t *testing.T) *house {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	h := &house{T: t, shown: queryable.New(store, names, queryable.Limits{})}
	h.appender = appendable.New(appendable.Options{SeriesBytes: 1 << 20, SeriesCache: 1000, Appender: store, Metadata: store.Documents(), Names: names, Now: time.Now})
	q := promquery.DefaultOptions()
	q.Names, q.Queryable, q.Origins, q.Logger, q.Running = names, h.shown, regexp.MustCompile("^$"), slog.New(slog.DiscardHandler), query.NewRegistry()
	q.Registerer, q.Gatherer = prometheus.NewRegistry(), prometheus.NewRegistry()
	h.api = promquery.New(q)
	h.o = rules.DefaultOptions()
	h.o.Ready = func(context.Context) error { return nil }
	h.o.Appendable, h.o.Queryable, h.o.Budget, h.o.Logger = h.appender, h.shown, query.NewBudget(1<<30), slog.New(slog.DiscardHandler)
	return h
}

// set loads a file of rules.
func (h *house) set(text string) *rules.Set {
	h.Helper()
	file := filepath.Join(h.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	set, err := rules.Load(rules.Config{Files: []string{file}, Interval: 50 * time.Millisecond}, promquery.DefaultOptions().Parser(), testChecks())
	if err != nil {
		h.Fatal(err)
	}
	return set
}

// testChecks are those of a language whose queries are numbers.
func testChecks() rules.Checks {
	return rules.Checks{"graphite": func(text string) error {
		_, err := strconv.ParseFloat(text, 64)
		return err
	}}
}

// numbers evaluates the language of testChecks. The results have the window as a label.
type numbers struct{}

func (numbers) Evaluate(_ context.Context, q rules.Question) (promql.Vector, error) {
	v, err := strconv.ParseFloat(q.Text, 64)
	return promql.Vector{{Metric: labels.FromStrings("window", q.Window.String()), T: q.At.UnixMilli(), F: v}}, err
}

// promQL evaluates by the query API.
type promQL struct{ *promquery.API }

func (p promQL) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	return p.Instant(ctx, q.Text, q.Client, q.At)
}

func (h *house) evaluators() rules.Evaluators {
	return rules.Evaluators{rules.PromQL: promQL{h.api}, "graphite": numbers{}}
}

// run runs a service until stop or the end of the test.
func (h *house) run(s *rules.Service) (stop func()) {
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = func() {
		cancel()
		if done == nil {
			return
		}
		if err := <-done; err != nil {
			h.Error(err)
		}
		done = nil
	}
	h.Cleanup(stop)
	return stop
}

// write stores a sample of now.
func (h *house) write(series string, at time.Time, v float64) {
	h.Helper()
	a := h.appender.Appender(h.Context())
	if _, err := a.Append(0, promtest.Labels(h, series), at.UnixMilli(), v); err != nil {
		h.Fatal(err)
	}
	if err := a.Commit(); err != nil {
		h.Fatal(err)
	}
}

// value evaluates a query now.
func (h *house) value(text string) string {
	h.Helper()
	v, err := h.api.Instant(h.Context(), text, "", time.Now())
	if err != nil {
		h.Fatal(err)
	}
	var b strings.Builder
	for _, s := range v {
		fmt.Fprintf(&b, "%s %v\n", s.Metric, s.F)
	}
	return b.String()
}

// await waits until a condition holds.
func (h *house) await(what string, holds func() bool) {
	h.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			h.Fatalf("not within a minute: %s", what)
		}
	}
}

func (h *house) awaitValue(text, want string) {
	h.Helper()
	h.await(text+" = "+want, func() bool { return h.value(text) == want })
}

const someRules = `
groups:
  - name: first
    rules:
      - {record: 'load:sum', expr: sum(load), labels: {by: rule}}
      - {record: 'load:double', expr: load:sum * 2}
      - {alert: High, expr: load > 1, labels: {severity: page}, annotations: {summary: '{{ $labels.host }} has {{ $value }}'}}
      - {alert: Waiting, expr: load > 1, for: 1h}
`

// Recording rules are evaluated in order and stored, alerts show as ALERTS, and what ends becomes stale.
func TestRules(t *testing.T) {
	h := newHouse(t)
	sent := make(chan *promrules.Alert, 10000)
	h.o.Notify = func(_ context.Context, _ string, alerts ...*promrules.Alert) {
		for _, a := range alerts {
			sent <- a
		}
	}
	s := rules.New(h.o)
	s.Use(h.set(someRules), h.evaluators())
	if got := len(s.RuleGroups()) + len(s.AlertingRules()); got != 0 {
		t.Errorf("%d groups and alerts before the service runs", got)
	}
	h.write(`{__name__="load", host="a"}`, time.Now(), 1)
	h.write(`{__name__="load", host="b"}`, time.Now(), 2)
	stop := h.run(s)
	h.awaitValue("load:double", `{__name__="load:double", by="rule"} 6`+"\n")
	h.awaitValue(`ALERTS{alertname="High"}`, `{__name__="ALERTS", alertname="High", alertstate="firing", host="b", severity="page"} 1`+"\n")
	h.awaitValue(`ALERTS{alertname="Waiting"}`, `{__name__="ALERTS", alertname="Waiting", alertstate="pending", host="b"} 1`+"\n")
	h.awaitValue(`count by (alertname) (ALERTS_FOR_STATE)`, `{alertname="High"} 1`+"\n"+`{alertname="Waiting"} 1`+"\n")
	if a := <-sent; a.Annotations.Get("summary") != "b has 2" || a.State != promrules.StateFiring {
		t.Errorf("sent %v %v", a.Annotations, a.State)
	}
	if got := len(s.RuleGroups()); got != 1 || len(s.AlertingRules()) != 2 {
		t.Errorf("%d groups, %d alerting rules", got, len(s.AlertingRules()))
	}
	// an alert that ends is stale at once
	h.write(`{__name__="load", host="b"}`, time.Now(), 0.5)
	h.awaitValue(`ALERTS`, "")
	h.awaitValue("load:double", `{__name__="load:double", by="rule"} 3`+"\n")
	// so are the series of rules that are there no more
	s.Use(h.set("groups: []"), h.evaluators())
	if got := len(s.RuleGroups()); got != 0 {
		t.Errorf("%d groups", got)
	}
	h.awaitValue("load:double", "")
	stop()
	if used := h.o.Budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are still held", used)
	}
}

// awaySometimes is a queryable that fails at first.
type awaySometimes struct {
	promstorage.Queryable
	failures *atomic.Int32
}

func (a awaySometimes) Querier(from, to int64) (promstorage.Querier, error) {
	q, err := a.Queryable.Querier(from, to)
	return awayQuerier{q, a.failures}, err
}

type awayQuerier struct {
	promstorage.Querier
	failures *atomic.Int32
}

func (a awayQuerier) Select(ctx context.Context, sorted bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	if a.failures.Add(-1) >= 0 {
		return promstorage.ErrSeriesSet(promtest.ErrEngine)
	}
	return a.Querier.Select(ctx, sorted, hints, matchers...)
}

// The state of "for" is restored after a restart, also when the store is away for a moment.
func TestRestore(t *testing.T) {
	h := newHouse(t)
	var failures atomic.Int32
	failures.Store(3)
	h.o.Queryable = awaySometimes{h.shown, &failures}
	now := time.Now()
	since := now.Add(-50 * time.Minute).Truncate(time.Second)
	h.write(`{__name__="ALERTS_FOR_STATE", alertname="Waiting", host="b"}`, now.Add(-time.Minute), float64(since.Unix()))
	h.write(`{__name__="load", host="b"}`, now, 2)
	s := rules.New(h.o)
	s.Use(h.set(someRules), h.evaluators())
	h.run(s)
	h.await("the state is restored", func() bool {
		for _, r := range s.AlertingRules() {
			if r.Name() == "Waiting" && r.Restored() {
				alerts := r.ActiveAlerts()
				// the minute without evaluations does not count
				if at := alerts[0].ActiveAt; math.Abs(at.Sub(since).Seconds()-60) > 30 {
					t.Fatalf("active since %s, was since %s", at, since)
				}
				return true
			}
		}
		return false
	})
	if failures.Load() > 0 {
		t.Error("the store was not away")
	}
}

// slowEvaluator waits until the test ends it.
type slowEvaluator struct{ began chan string }

func (e slowEvaluator) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	e.began <- q.Client
	<-ctx.Done()
	return nil, ctx.Err()
}

// A service that stops ends evaluations that take too long.
func TestStop(t *testing.T) {
	h := newHouse(t)
	h.o.StopTime = time.Millisecond
	s := rules.New(h.o)
	began := make(chan string, 100)
	s.Use(h.set(someRules), rules.Evaluators{rules.PromQL: slowEvaluator{began}})
	stop := h.run(s)
	if got := <-began; got != `rule group "first"` {
		t.Errorf("the client is %s", got)
	}
	stop()
}

// A query without memory fails, and leaves nothing behind.
func TestNoMemory(t *testing.T) {
	h := newHouse(t)
	h.o.Budget = query.NewBudget(100)
	s := rules.New(h.o)
	s.Use(h.set(someRules), h.evaluators())
	stop := h.run(s)
	h.await("the rules fail", func() bool {
		for _, g := range s.RuleGroups() {
			for _, r := range g.Rules() {
				if err := r.LastError(); err == nil || !strings.Contains(err.Error(), query.MemoryFlag) {
					return false
				}
			}
		}
		return len(s.RuleGroups()) > 0
	})
	stop()
	if used := h.o.Budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are still held", used)
	}
}

// Rules of a group may be in several languages, and so may the queries of templates.
func TestLanguages(t *testing.T) {
	h := newHouse(t)
	s := rules.New(h.o)
	s.Use(h.set(`
groups:
  - name: all
    lang: graphite
    window: 7m
    rules:
      - {record: a, expr: '42'}
      - {record: b, expr: '43', lang: graphite, window: 1h}
      - {record: c, lang: promql, expr: a + 1}
      - alert: D
        expr: '45'
        annotations: {summary: '{{ query "graphite: 46" | first | value }}'}
`), h.evaluators())
	h.run(s)
	h.awaitValue("a", `{__name__="a", window="7m0s"} 42`+"\n")
	h.awaitValue("b", `{__name__="b", window="1h0m0s"} 43`+"\n")
	h.awaitValue("c", `{__name__="c", window="7m0s"} 43`+"\n")
	h.awaitValue("ALERTS", `{__name__="ALERTS", alertname="D", alertstate="firing", window="7m0s"} 1`+"\n")
	if got := s.AlertingRules()[0].ActiveAlerts()[0].Annotations.Get("summary"); got != "46" {
		t.Errorf("summary %q", got)
	}
	if got := s.RuleGroups()[0].Rules()[1].Query().String(); got != "graphite[1h]: 43" {
		t.Errorf("the query is shown as %s", got)
	}
}

// aliasBomb is a list of lists each of which has the one before nine times.
func aliasBomb() string {
	var b strings.Builder
	for i := range 8 {
		alias := "*" + string(rune('a'+i))
		fmt.Fprintf(&b, "- &%c [%s]\n", 'b'+i, strings.Join(slices.Repeat([]string{alias}, 9), ","))
	}
	return b.String()
}

// A rule that an alias stands for is in the language of its place.
func TestAliases(t *testing.T) {
	h := newHouse(t)
	s := rules.New(h.o)
	s.Use(h.set(`
groups:
  - &p
    name: p
    rules:
      - &r {record: a, expr: &e '1'}
      - {<<: *r, record: b, lang: graphite, window: 7m}
      - {record: c, expr: *e}
  - {<<: *p, name: g, lang: graphite}
  - {name: l, lang: graphite, rules: [*r]}
  - {name: q, rules: [*r]}
`), h.evaluators())
	h.run(s)
	h.await("there are groups", func() bool { return len(s.RuleGroups()) > 0 })
	var got []string
	for _, g := range s.RuleGroups() {
		for _, r := range g.Rules() {
			got = append(got, g.Name()+" "+r.Name()+" "+r.Query().String())
		}
	}
	if want := "p a 1, p b graphite[7m]: 1, p c 1, g a graphite: 1, g b graphite[7m]: 1, g c graphite: 1, l a graphite: 1, q a 1"; sortedText(got) != sortedText(strings.Split(want, ", ")) {
		t.Errorf("rules %s, want %s", sortedText(got), want)
	}
}

// The texts of a file with another language are what they are in a file without one.
func TestTextsAsWritten(t *testing.T) {
	for _, text := range []string{
		"|\n\n          a\n", ">\n\n          a\n          b\n", "|2\n\n            a\n", "|+\n          a\n\n", ">-\n          a\n", "'a\n\n          b'", "\"a\\u2028\\n\"", "~", "1.0", "'1.0'", "yes", "0x1F", "2026-01-01",
	} {
		read := func(more string) map[string]string {
			set, err := rules.ParseSet(rules.Config{}, "f", []byte("groups:\n- name: a\n  rules:\n    - alert: A\n      expr: x\n      annotations:\n        a: "+text+"\n"+more), promquery.DefaultOptions().Parser(), testChecks())
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return rules.Annotations(set, "f")
		}
		if want, got := read(""), read("- {name: b, lang: graphite, rules: []}\n"); want["a"] != got["a"] {
			t.Errorf("%q: %q, want %q", text, got["a"], want["a"])
		}
	}
}

func sortedText(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.yml":  someRules,
		"a.yml":     "groups:\n- name: a\n  rules:\n  - record: x\n    expr: sum(\n  - alert: Y\n",
		"b.yml":     "groups:\n- name: a\n  rule: []\n",
		"c.yml":     "groups: []\n---\ngroups: []\n",
		"d.yml":     "groups: [\n",
		"empty.yml": "",
		"l.yml":     "groups:\n# a\n- name: a\n  lang: graphite\n\n  rules:\n  - {record: a, expr: '1'}\n  - {record: b,\n     expr: x}\n  - {record: '', expr: '1'}\n",
		"alias.yml": "groups:\n- name: a\n  rules:\n  - &r {record: a, expr: &e '1'}\n  - {<<: *r, record: c, lang: graphite}\n" +
			"- &g {name: b, lang: graphite, rules: [*r, {record: b, expr: '2', labels: &l {a: b}}]}\n- {<<: [*g, {limit: 3}], name: c, lang: promql}\n- {<<: *g, name: d, rules: [{record: d, expr: *e, labels: *l}]}\n",
		"self.yml": "groups: &a [*a]\n",
		"bomb.yml": "groups:\n- &a {name: a, lang: graphite, rules: [{record: a, expr: '1'}]}\n" + aliasBomb(),
		"m.yml":    "groups:\n- name: a\n  rules:\n  - {record: a, expr: '1', lang: cobol}\n  - {record: a, expr: '1', window: 5m}\n  - {record: a, expr: '1', lang: graphite, window: 0}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"good.yml": nil, "empty.yml": nil, "[eg]*[dy].yml": nil, "nothing*.yml": nil,
		"alias.yml":   nil,
		"self.yml":    {`self.yml:1: anchor "a" contains itself`},
		"bomb.yml":    {`bomb.yml: the document contains excessive aliasing`},
		"nothing.yml": {`there is no such file`},
		"[":           {"syntax error in pattern"},
		"a.yml":       {`a.yml:5: group "a", rule 1, "x": could not parse expression: `, `a.yml:6: group "a", rule 2, "Y": field 'expr' must be set in rule`},
		"b.yml":       {`b.yml:3: field rule not found`},
		"c.yml":       {`c.yml:2: a second document; one is read`},
		"d.yml":       {`d.yml:`},
		"l.yml":       {`l.yml:8: group "a", rule 2, "b": could not parse expression: graphite: `, `l.yml:10: group "a", rule 3`},
		"m.yml":       {`m.yml:4: lang "cobol": want graphite or promql`, `m.yml:5: window: it is for`, `m.yml:6: window "0": want`},
	} {
		_, err := rules.Load(rules.Config{Files: []string{filepath.Join(dir, pattern)}}, promquery.DefaultOptions().Parser(), testChecks())
		if (err != nil) != (want != nil) {
			t.Errorf("%s: %v, want %v", pattern, err, want)
		}
		for _, w := range want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v lacks %s", pattern, err, w)
			}
		}
	}
}
