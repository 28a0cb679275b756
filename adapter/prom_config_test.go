package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each mistake in keys of Prometheus is told, with its line and its key; those of several keys and items at once.
func TestPromConfigErrors(t *testing.T) {
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
