package adapter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// RetentionConfig is a rule of the retention in the configuration file.
type RetentionConfig struct {
	Matcher  string // a selector of PromQL
	Age      time.Duration
	Matchers []*labels.Matcher // of Matcher
}

// ParseRetention reads the list of rules of the retention. It reports all errors at once, each with
// its line and matcher.
func ParseRetention(node *yaml.Node) ([]RetentionConfig, error) {
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: retention: want a list of rules, each with a matcher and an age", node.Line)
	}
	return yamlRules(node, "retention", parseRetentionRule, func(r RetentionConfig) string { return "matcher " + r.Matcher })
}

// yamlRules reads the rules of a list under a key. It reports all errors at once, each with its line. No two
// rules may be about the same, which named names in errors.
func yamlRules[R any](node *yaml.Node, key string, parse func(*yaml.Node) (R, error), named func(R) string) ([]R, error) {
	var rules []R
	var errs []error
	lines := map[string]int{}
	for _, item := range node.Content {
		r, err := parse(item)
		name := named(r)
		switch {
		case err != nil:
			err = fmt.Errorf("line %d: %s: %w", item.Line, key, err)
		case lines[name] > 0:
			err = fmt.Errorf("line %d: %s: %s is in line %d already", item.Line, key, name, lines[name])
		}
		errs = append(errs, err)
		lines[name] = item.Line
		rules = append(rules, r)
	}
	return rules, errors.Join(errs...)
}

// A retentionReader reads the keys of a rule.
type retentionReader struct{ matcher, age string }

func (r *retentionReader) fields() yamlFields {
	return yamlFields{"matcher": yamlText(&r.matcher), "age": yamlText(&r.age)}
}

func parseRetentionRule(node *yaml.Node) (r RetentionConfig, err error) {
	var keys retentionReader
	err = keys.fields().read(node, "a rule")
	r.Matcher = keys.matcher
	if err != nil {
		return r, err
	}
	age := keys.age
	if r.Matcher == "" {
		return r, errors.New("a rule has no matcher")
	}
	if r.Matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(r.Matcher); err != nil {
		return r, fmt.Errorf("matcher %s: %w", r.Matcher, err)
	}
	if err := pathlabel.Refuse(r.Matchers); err != nil {
		return r, fmt.Errorf("matcher %s: %w", r.Matcher, err)
	}
	if !slices.ContainsFunc(r.Matchers, func(m *labels.Matcher) bool { return !m.Matches("") }) {
		return r, fmt.Errorf("matcher %s: it matches every series: name a label that must be there", r.Matcher)
	}
	d, err := model.ParseDuration(age)
	if r.Age = time.Duration(d); err != nil {
		return r, fmt.Errorf("matcher %s: age %q: want a duration such as 30d", r.Matcher, age)
	}
	if r.Age < storage.MinRetention {
		return r, fmt.Errorf("matcher %s: age %s: want at least %v", r.Matcher, age, storage.MinRetention)
	}
	return r, nil
}

// retentionRules returns the rules in the terms of the store.
func retentionRules(rules []RetentionConfig, names *translate.Translator) []storage.RetentionRule {
	converted := make([]storage.RetentionRule, len(rules))
	for i, r := range rules {
		converted[i] = storage.RetentionRule{
			Name: r.Matcher, Age: r.Age, Filters: names.Filters(r.Matchers),
			Matches: matches(r.Matchers, names),
		}
	}
	return converted
}
