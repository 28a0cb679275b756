package e2e_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRuleTests: tsdbridge and promtool give the same verdict on promtool's own unit tests of rules, some of which fail.
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
		{"long-period.yml"},
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
		{"--ignore-unknown-fields", "rules_run_extrafields.yml"},
		{"--diff", "failing.yml"},
		{"unittest.yml", "failing.yml"},
	} {
		want, got := runRuleTests(t, prometheusBinary(t, "promtool"), directory, args), runRuleTests(t, adapterBinary(t), directory, args)
		if got.passes != want.passes {
			t.Errorf("%v: %v, want %v\n%s\npromtool:\n%s", args, got.passes, want.passes, got.out, want.out)
		}
		if diff := cmp.Diff(want.results, got.results); diff != "" {
			t.Errorf("%v: --junit: (-promtool, +ours)\n%s", args, diff)
		}
		// promtool lists no more than 10 000 samples
		if diff := cmp.Diff(want.debug, got.debug); diff != "" && !strings.Contains(want.out, "too many samples into memory") {
			t.Errorf("%v: --debug: (-promtool, +ours)\n%s", args, diff)
		}
		verdicts[want.passes]++
	}
	if verdicts[true] < 6 || verdicts[false] < 6 {
		t.Errorf("verdicts: %v", verdicts)
	}
}

// ruleTestResult is what a command tells of tests of rules.
type ruleTestResult struct {
	passes  bool
	out     string
	debug   []string // lines of --debug
	results []string // of --junit: suites, and tests with the number of their failures
}

func runRuleTests(t *testing.T, binary, directory string, args []string) (r ruleTestResult) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junit.xml")
	all := []string{"test", "rules", "--debug"}
	if filepath.Base(binary) == "promtool" {
		all = []string{"test", "--junit=" + file, "rules", "--debug"}
	} else {
		all = append(all, "--junit="+file)
	}
	cmd := exec.CommandContext(t.Context(), binary, append(all, args...)...)
	cmd.Dir = directory
	out, err := cmd.CombinedOutput()
	r.passes, r.out = err == nil, string(out)
	for line := range strings.Lines(r.out) {
		if line, _, _ = strings.Cut(line, ", took"); strings.HasPrefix(line, "DEBUG: ") || strings.Contains(line, " @[") || strings.HasSuffix(line, " =>\n") {
			r.debug = append(r.debug, line)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Cases    []struct {
				Name     string   `xml:"name,attr"`
				Failures []string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for _, s := range read.Suites {
		r.results = append(r.results, fmt.Sprintf("%s: %d tests, %d failures, %d errors", s.Name, s.Tests, s.Failures, s.Errors))
		for _, c := range s.Cases {
			r.results = append(r.results, fmt.Sprintf("%s: %d", c.Name, len(c.Failures)))
		}
	}
	return r
}
