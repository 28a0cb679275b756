package config

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/translate"
)

//go:embed testdata/rollups.json
var fillTestTables string

// TestParseFill runs the data file about the rules by which rollup tables are filled.
func TestParseFill(t *testing.T) {
	datadriven.RunTest(t, "testdata/fill", func(t *testing.T, d *datadriven.TestData) string {
		rules, err := parseFillText(t, d.Input)
		if err == nil {
			err = checkFill(t, rules, fillTestTables)
		}
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, r := range rules {
			fmt.Fprintf(&out, "%q %s; delay %v, back %v\n", r.Matcher, strings.Join(r.Intervals, " "), r.Delay, r.Back)
		}
		return out.String()
	})
}

// checkFill returns what is wrong with rules for tables of a configuration of rollups; "": there is none.
func checkFill(t *testing.T, rules []Fill, tables string) error {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	var c *rollup.Config
	if tables != "" {
		if c, err = rollup.ParseConfig([]byte(tables), func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	_, err = FillRules(rules, names, c)
	return err
}

func parseFillText(t testing.TB, text string) ([]Fill, error) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) != 1 {
		return nil, err
	}
	return ParseFill(root.Content[0])
}

// Rules need tables, and ids of all that is filled.
func TestFillNeedsTables(t *testing.T) {
	rules, err := parseFillText(t, "[{intervals: [1h]}]")
	if err != nil {
		t.Fatal(err)
	}
	for tables, want := range map[string]string{
		"": "rollups: --storage.rollups is not set",
		strings.Replace(fillTestTables, `,"max":3`, "", 1):        "rollups: --storage.rollups has no id of the aggregation max",
		strings.Replace(fillTestTables, `"max":3`, `"max":82`, 1): "rollups: --storage.rollups has the id 82 for max",
	} {
		if err := checkFill(t, rules, tables); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Whatever the YAML is, a rule is within the bounds or refused.
func FuzzParseFill(f *testing.F) {
	f.Add("- {matcher: up, delay: 30m, back: 1y, intervals: [1h]}")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parseFillText(t, text)
		if err != nil {
			return
		}
		for _, r := range rules {
			if r.Delay <= 0 || r.Back <= 0 {
				t.Errorf("%q declares %+v", text, r)
			}
		}
	})
}
