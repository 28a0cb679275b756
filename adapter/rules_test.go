package adapter

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

func mustParseProm(t *testing.T, dir, text string) *config.Prometheus {
	t.Helper()
	c, err := parsed(t, func(top *yaml.Node) (*config.Prometheus, error) { return config.ParsePrometheus(top.Content, dir) }, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// await waits until an answer has a part.
func (r *reloadable) await(path, part string) string {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		_, _, body := r.get(http.MethodGet, path, "")
		if strings.Contains(body, part) {
			return body
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s lacks %s: %s", path, part, body)
		}
	}
}

const rulesOfTest = `
groups:
  - name: one
    rules:
      - {record: 'two', expr: 'vector(2)'}
      - {alert: Always, expr: 'two > 1', labels: {severity: page}, annotations: {summary: 'two is {{ $value }}, here {{ $externalLabels.site }}'}}
  - name: other
    limit: 5
    rules:
      - {record: 'three', expr: 'vector(3)'}
`

// Rules come from the configuration file, are shown by Prometheus' API, and follow a reload.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yml")
	writeText(t, file, rulesOfTest)
	const config = "global: {evaluation_interval: 50ms, external_labels: {site: here}}\nrule_files: ['*.yml']\n"
	r, o := newReloadable(t, func(o *Options) { o.PromConfig = mustParseProm(t, dir, config) })
	instant := func(text string) string { return "/api/v1/query?query=" + url.QueryEscape(text) }
	r.await(instant("two"), `"value":[`)
	r.await(instant(`ALERTS`), `"alertname":"Always","alertstate":"firing","severity":"page"`)
	r.await("/api/v1/alerts", `"annotations":{"summary":"two is 2, here here"},"state":"firing"`)
	all := r.await("/api/v1/rules", `"health":"ok"`)
	for _, part := range []string{`"name":"one","file":"` + file, `"interval":0.05,"limit":0`, `"interval":0.05,"limit":5`, `"type":"recording"`, `"type":"alerting"`, `"state":"firing","name":"Always","query":"two \u003e 1"`} {
		if !strings.Contains(all, part) {
			t.Errorf("/api/v1/rules lacks %s: %s", part, all)
		}
	}
	for _, c := range []struct{ query, has, lacks string }{
		{"type=alert", "Always", "recording"},
		{"type=record", "three", "Always"},
		{"rule_name[]=two", "two", `"name":"three"`},
		{"rule_group[]=other", "three", `"name":"one"`},
		{"file[]=nothing", `"groups":[]`, "one"},
		{"match[]={severity=\"page\"}", "Always", "three"},
		{"exclude_alerts=true", "Always", "activeAt"},
		{"group_limit=1", `"groupNextToken":"`, "three"},
		{"type=x", `not supported value \"x\"`, "groups"},
	} {
		_, _, body := r.get(http.MethodGet, "/api/v1/rules?"+strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22").Replace(c.query), "")
		if !strings.Contains(body, c.has) || strings.Contains(body, c.lacks) {
			t.Errorf("%s: %s", c.query, body)
		}
	}
	waitMetric(t, r.Adapter, `prometheus_rule_evaluations_total{rule_group="`+file+`;one"} [1-9]`)

	// a bad file changes nothing
	writeText(t, file, "groups:\n- name: x\n  rules: [{record: a, expr: 'sum('}]\n")
	r.set(o, nil)
	if body := r.reload(500); !strings.Contains(body, file+":3: group") {
		t.Errorf("the reload reports %s", body)
	}
	r.await("/api/v1/rules", `"name":"Always"`)

	writeText(t, file, strings.ReplaceAll(rulesOfTest, "vector(3)", "vector(4)"))
	n := o
	n.PromConfig = mustParseProm(t, dir, strings.ReplaceAll(config, "here", "there"))
	r.set(n, nil)
	if body := r.reload(200); !strings.Contains(body, `"applied":[{"name":"global"`) || !strings.Contains(body, `{"name":"rules"`) {
		t.Errorf("the reload reports %s", body)
	}
	r.await(instant("three"), `"4"]`)
	// what is the same again is applied without a word
	if body := r.reload(200); !strings.Contains(body, `"applied":[]`) {
		t.Errorf("the reload reports %s", body)
	}
	n.PromConfig = nil
	r.set(n, nil)
	r.reload(200)
	r.await("/api/v1/rules", `"groups":[]`)
	r.await(instant("three"), `"result":[]`)
}

func TestBadRulesRefuseStart(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.ListenAddress = tables.EngineMemory, ""
	o.PromConfig = mustParseProm(t, t.TempDir(), "rule_files: [nothing.yml]")
	if a, err := New(o); err == nil || !strings.Contains(err.Error(), "nothing.yml") {
		t.Errorf("New = %v, %v", a, err)
	}
}

// Rules ask carbon's and OpenTSDB's series in their own languages.
func TestRuleLanguages(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yml")
	writeText(t, file, `
groups:
  - name: pushed
    rules:
      - {record: 'load:sum', lang: graphite, expr: 'sumSeries(servers.*.load)'}
      - {record: 'load:node', lang: graphite, expr: 'aliasByNode(servers.*.load, 1)', labels: {by: rule}}
      - {record: 'disk:max', lang: graphite, window: 1h, expr: "seriesByTag('name=disk.used')"}
      - {record: 'cpu:max', lang: opentsdb, window: 2h, expr: 'max:sys.cpu{host=*}'}
      - {record: 'cpu:short', lang: opentsdb, expr: 'max:sys.cpu'}
      - {record: 'cpu:sum', lang: opentsdb, expr: 'sum:1h-avg:sys.cpu'}
      - {record: 'nothing', lang: opentsdb, expr: 'sum:no.such.metric'}
      - {alert: Load, lang: graphite, expr: 'removeBelowValue(servers.*.load, 2)', annotations: {summary: '{{ $labels.name }} {{ $value }}'}}
`)
	r, _ := newReloadable(t, func(o *Options) {
		o.Carbon.ListenAddress = "127.0.0.1:0"
		o.PromConfig = mustParseProm(t, dir, "global: {evaluation_interval: 100ms}\nrule_files: [a.yml]\n")
	})
	now := time.Now().Unix()
	text := fmt.Sprintf("servers.a.load 1 %[1]d\nservers.b.load 2 %[1]d\nservers.b.load 9 %[2]d\ndisk.used;host=a 5 %[3]d\nsys.cpu;host=a 6 %[3]d\nsys.cpu;host=b 7 %[3]d\n", now-65, now-3600, now-1800)
	sendCarbon(t, r.Adapter, text, `sys.cpu [{"host" "b"}]`, (now-1800)*1000)
	instant := func(text string) string { return "/api/v1/query?query=" + url.QueryEscape(text) }
	for query, want := range map[string]string{
		"load:sum":              `{"metric":{"__name__":"load:sum","name":"sumSeries(servers.*.load)"}`,
		"load:sum == 3":         `{"metric"`,
		`load:node{name="a"}`:   `{"metric":{"__name__":"load:node","by":"rule","name":"a"}`,
		"disk:max == 5":         `{"metric":{"__name__":"disk:max","host":"a"}`,
		`cpu:max{host="b"} > 6`: `{"metric":{"__name__":"cpu:max","host":"b"}`,
		"cpu:sum == 13":         `{"metric":{"__name__":"cpu:sum"}`,
		"ALERTS":                `"alertname":"Load","alertstate":"firing","name":"`,
	} {
		r.await(instant(query), want)
	}
	r.await("/api/v1/alerts", `"summary":"removeBelowValue(servers.b.load, 2) 2"`)
	r.await(instant("cpu:short or nothing"), `"result":[]`)
	all := r.await("/api/v1/rules", `"query":"graphite[1h]: seriesByTag('name=disk.used')"`)
	if strings.Contains(all, "lastError") {
		t.Errorf("a rule has failed: %s", all)
	}
}

// A subquery without a step has that of global.evaluation_interval, as in Prometheus, and of a reload.
func TestSubqueryStep(t *testing.T) {
	dir := t.TempDir()
	r, o := newReloadable(t, func(o *Options) {
		o.PromConfig = mustParseProm(t, dir, "global: {evaluation_interval: 5s}\n")
	})
	const count = "/api/v1/query?time=1700000000&query=count_over_time(vector(1)[1m:])"
	r.await(count, `"12"]`)
	o.PromConfig = mustParseProm(t, dir, "global: {evaluation_interval: 20s}\n")
	r.set(o, nil)
	r.reload(200)
	r.await(count, `"3"]`)
	o.PromConfig = nil
	r.set(o, nil)
	r.reload(200)
	r.await(count, `"1"]`)
}
