package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/storage/store"
)

// TestParseRetention runs the data file about the retention in the configuration: YAML -> the rules,
// or what is wrong.
func TestParseRetention(t *testing.T) {
	datadriven.RunTest(t, "testdata/retention", func(t *testing.T, d *datadriven.TestData) string {
		rules, err := parseRetentionText(t, d.Input)
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, r := range rules {
			fmt.Fprintf(&out, "%s for %v, %d matchers\n", r.Matcher, r.Age, len(r.Matchers))
		}
		return out.String()
	})
}

func parseRetentionText(t testing.TB, text string) ([]Retention, error) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) != 1 {
		return nil, err
	}
	return ParseRetention(root.Content[0])
}

// Whatever the YAML is, a rule is declared or refused; a rule that is declared matches something
// and not everything.
func FuzzParseRetention(f *testing.F) {
	f.Add("- {matcher: up, age: 30d}")
	f.Add("- {matcher: '{job=~\"a.*\"}', age: 1y}\n- &a {matcher: x, age: 1h}")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parseRetentionText(t, text)
		if err != nil {
			return
		}
		for _, r := range rules {
			empty := true
			for _, m := range r.Matchers {
				empty = empty && m.Matches("")
			}
			if empty || r.Age < store.MinRetention {
				t.Errorf("%q declares %+v", text, r)
			}
		}
	})
}
