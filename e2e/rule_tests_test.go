package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRuleTests: tsdbridge and promtool give the same verdict on promtool's own unit tests of rules, some of which fail. long-period.yml is
// left out: it has samples after 2106, which OpenTSDB's rows cannot have.
func TestRuleTests(t *testing.T) {
	needE2E(t)
	t.Parallel()
	source := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Dir}}", prometheusModule))
	directory := filepath.Join(source, "cmd", "promtool", "testdata")
	verdicts := map[bool]int{}
	for _, args := range [][]string{
		{"at-modifier-test.yml"},
		{"bad-rules-error-test.yml"},
		{"bad-rules-syntax-test.yml"},
		{"bad-input-series.yml"},
		{"bad-promql.yml"},
		{"failing.yml"},
		{"negative-offset-test.yml"},
		{"no-test-group-interval.yml"},
		{"start-time-test.yml"},
		{"unittest.yml"},
		{"rules_run.yml"},
		{"--run=correct", "rules_run.yml"},
		{"--run=wrong", "rules_run.yml"},
		{"rules_run_fuzzy.yml"},
		{"--run=^correct", "rules_run_fuzzy.yml"},
		{"rules_run_no_fuzzy.yml"},
		{"rules_run_extrafields.yml"},
		{"unittest.yml", "failing.yml"},
	} {
		passes := func(binary string) (bool, string) {
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"test", "rules"}, args...)...)
			cmd.Dir = directory
			out, err := cmd.CombinedOutput()
			return err == nil, string(out)
		}
		want, theirs := passes(prometheusBinary(t, "promtool"))
		got, ours := passes(adapterBinary(t))
		if got != want {
			t.Errorf("%v: %v, want %v\n%s\npromtool:\n%s", args, got, want, ours, theirs)
		}
		verdicts[want]++
	}
	if verdicts[true] < 6 || verdicts[false] < 6 {
		t.Errorf("verdicts: %v", verdicts)
	}
}
