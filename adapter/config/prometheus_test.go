package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// Each mistake in keys of Prometheus is told, with its line and its key; those of several keys and items at once.
func TestPrometheusErrors(t *testing.T) {
	for text, want := range map[string]string{
		"otlp:\n  translation_strategy: Nope\n": `line 2: otlp: unsupported OTLP translation strategy "Nope"`,
		"rule_files: a.yml\n":                   "line 1: rule_files: cannot unmarshal !!str `a.yml` into []string",
		"remote_write:\n  - url: http://a\n    queue_config: {capacity: many}\n  - name: b\n": "line 3: remote_write.queue_config.capacity: cannot unmarshal !!str `many` into int\n" +
			"line 4: remote_write: url for remote_write is empty",
		"alerting:\n  alertmanagers:\n    - kubernetes_sd_configs: [{role: pod}]\n": `line 3: alerting.alertmanagers: there is no key "kubernetes_sd_configs" here`,
		"global:\n  evaluation_interval: often\notlp:\n  translation_strategy: Nope\n": "line 2: global: not a valid duration string: \"often\"\n" +
			`line 4: otlp: unsupported OTLP translation strategy "Nope"`,
	} {
		_, err := parsePromText(t, ".", text)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// parsePromText reads the keys of a Prometheus' configuration.
func parsePromText(t *testing.T, dir, text string) (*Prometheus, error) {
	t.Helper()
	var top yaml.Node
	if err := yaml.Unmarshal([]byte(text), &top); err != nil {
		t.Fatal(err)
	}
	return ParsePrometheus(top.Content[0].Content, dir)
}

func TestPrometheus(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"alerting:\n  alertmanagers:\n  - static_configs: [{targets: ['a:1']}]\n    dns_sd_configs: []\n", "line 4: alerting.alertmanagers: there is no key \"dns_sd_configs\" here"},
		{"alerting: {alertmanagers: [{static_configs: [{targets: ['http://a:1']}]}]}", "line 1: "},
		{"alerting: {alertmanagers: [{static_configs: [{targets: ['a:1']}], basic_auth: {username: a}}]}", ""},
		{"alerting: {alert_relabel_configs: [{regex: '('}]}", "line 1: "},
		{"global: {scrape_interval: 5s}", `line 1: global has no key "scrape_interval" here: want evaluation_interval, external_labels, rule_query_offset`},
		{"# a\n\nglobal:\n\n  evaluation_interval: soon\n", "line 5: global: "},
		{"global:\n  # a\n  external_labels:\n\n    a: [1]\n", "line 5: "},
		{"rule_files: 5", "line 1: "},
		{"rule_files:\n\n- 'a/*/b.yml'\n", "line 3: rule_files: invalid rule file path"},
		{"# b\nrule_files: [a.yml]\nglobal: {rule_query_offset: 5s}", ""},
		{"global: {external_labels: {a: '1', b: two}, evaluation_interval: 1m}", ""},
	} {
		text, want := tc.text, tc.want
		c, err := parsePromText(t, "/dir", text)
		switch {
		case (err == nil) != (want == ""):
			t.Errorf("%q: %v, want %s", text, err, want)
		case err != nil && !strings.HasPrefix(err.Error(), want):
			t.Errorf("%q: %v, want %s", text, err, want)
		case err == nil && len(c.RuleFiles) > 0 && fmt.Sprint(c.RuleFiles) != "[/dir/a.yml]":
			t.Errorf("%q: rule files %v", text, c.RuleFiles)
		}
	}
}
