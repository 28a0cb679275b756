package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A TestFile is a file of rule unit tests, in promtool's format.
type TestFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	GroupEvalOrder     []string       `yaml:"group_eval_order"`
	Tests              []TestGroup    `yaml:"tests"`
	FuzzyCompare       bool           `yaml:"fuzzy_compare"`
}

// A TestGroup is input, and what rules and queries make of it.
type TestGroup struct {
	Name            string         `yaml:"name"`
	Interval        model.Duration `yaml:"interval"`
	InputSeries     []inputSeries  `yaml:"input_series"`
	AlertRuleTests  []alertTest    `yaml:"alert_rule_test"`
	PromQLExprTests []exprTest     `yaml:"promql_expr_test"`
	ExternalLabels  labels.Labels  `yaml:"external_labels"`
	ExternalURL     string         `yaml:"external_url"`
	StartTimestamp  testTime       `yaml:"start_timestamp"`

	shown string // the name, or a number in its place
}

// ShownName returns the name of a test, or what stands for it.
func (g *TestGroup) ShownName() string { return g.shown }

type inputSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type alertTest struct {
	EvalTime  model.Duration  `yaml:"eval_time"`
	Alertname string          `yaml:"alertname"`
	ExpAlerts []expectedAlert `yaml:"exp_alerts"`
}

type expectedAlert struct {
	ExpLabels      map[string]string `yaml:"exp_labels"`
	ExpAnnotations map[string]string `yaml:"exp_annotations"`
}

type exprTest struct {
	Expr       string           `yaml:"expr"`
	EvalTime   model.Duration   `yaml:"eval_time"`
	ExpSamples []expectedSample `yaml:"exp_samples"`
}

type expectedSample struct {
	Labels    string  `yaml:"labels"`
	Value     float64 `yaml:"value"`
	Histogram string  `yaml:"histogram"` // not empty: Value does not count
}

// A testTime is a time of RFC 3339, or seconds since 1970, which may be negative.
type testTime struct{ time.Time }

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *testTime) UnmarshalYAML(node *yaml.Node) error {
	if s, err := strconv.ParseFloat(node.Value, 64); err == nil && math.Abs(s) < 1<<40 {
		whole, part := math.Modf(s)
		t.Time = time.Unix(int64(whole), int64(part*float64(time.Second))).UTC()
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, node.Value)
	if err != nil {
		return fmt.Errorf("line %d: cannot parse %q to a valid timestamp", node.Line, node.Value)
	}
	t.Time = at
	return nil
}

// LoadTests reads a file of rule unit tests. Its rule files are relative to it. missing are patterns
// that no file matches.
func LoadTests(file string) (f *TestFile, missing []string, err error) {
	text, err := fsutil.ReadRegular(file)
	if err != nil {
		return nil, nil, err
	}
	f = &TestFile{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fileErrors(file, err)
	}
	if f.EvaluationInterval == 0 {
		f.EvaluationInterval = model.Duration(defaultInterval)
	}
	for i, name := range f.GroupEvalOrder {
		if slices.Contains(f.GroupEvalOrder[:i], name) {
			return nil, nil, &FileError{File: file, Err: fmt.Errorf("group name repeated in evaluation order: %s", name)}
		}
	}
	for i := range f.Tests {
		if err := f.Tests[i].complete(i, f.EvaluationInterval); err != nil {
			return nil, nil, &FileError{File: file, Err: err}
		}
	}
	missing, err = f.resolve(filepath.Dir(file))
	return f, missing, err
}

// complete gives a group what it does not say, and checks what it says.
func (g *TestGroup) complete(number int, interval model.Duration) error {
	if g.Interval == 0 {
		g.Interval = interval
	}
	if g.shown = g.Name; g.Name == "" {
		g.shown = fmt.Sprintf("unnamed#%d", number)
	}
	if g.Interval < 0 || interval < 0 {
		return fmt.Errorf("test %s: an interval must be above 0", g.shown)
	}
	for _, a := range g.AlertRuleTests {
		if a.Alertname == "" {
			return fmt.Errorf("test %s: an item under alert_rule_test misses required attribute alertname at eval_time %v", g.shown, a.EvalTime)
		}
	}
	return nil
}

// resolve finds the rule files.
func (f *TestFile) resolve(directory string) (missing []string, err error) {
	var files []string
	for _, pattern := range f.RuleFiles {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(directory, pattern)
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("rule_files: %q: %w", pattern, err)
		}
		if len(found) == 0 {
			missing = append(missing, pattern)
		}
		files = append(files, found...)
	}
	f.RuleFiles = files
	return missing, nil
}

// start is the time of the first evaluation.
func (g *TestGroup) start() time.Time {
	if g.StartTimestamp.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return g.StartTimestamp.UTC()
}

// last is the time of the last test after the start.
func (g *TestGroup) last() (last time.Duration) {
	for _, a := range g.AlertRuleTests {
		last = max(last, time.Duration(a.EvalTime))
	}
	for _, e := range g.PromQLExprTests {
		last = max(last, time.Duration(e.EvalTime))
	}
	return last
}
