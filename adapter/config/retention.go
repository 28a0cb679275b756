package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A Retention is a rule about how long points of which series are kept.
type Retention struct {
	Matcher  string // a selector of PromQL
	Age      time.Duration
	Matchers []*labels.Matcher // of Matcher
}

// ParseRetention reads the list of rules of the retention. It reports all errors at once, each with
// its line and matcher.
func ParseRetention(node *yaml.Node) ([]Retention, error) {
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: retention: want a list of rules, each with a matcher and an age", node.Line)
	}
	return yamlRules(node, "retention", parseRetentionRule, func(r Retention) string { return "matcher " + r.Matcher })
}

// A retentionReader reads the keys of a rule.
type retentionReader struct{ matcher, age string }

func (r *retentionReader) fields() yamlFields {
	return yamlFields{"matcher": yamlText(&r.matcher), "age": yamlText(&r.age)}
}

func parseRetentionRule(node *yaml.Node) (r Retention, err error) {
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
	if r.Matchers, err = pathlabel.ParseLabels(r.Matcher); err != nil {
		return r, fmt.Errorf("matcher %s: %w", r.Matcher, err)
	}
	if !slices.ContainsFunc(r.Matchers, func(m *labels.Matcher) bool { return !m.Matches("") }) {
		return r, fmt.Errorf("matcher %s: it matches every series: name a label that must be there", r.Matcher)
	}
	d, err := model.ParseDuration(age)
	if r.Age = time.Duration(d); err != nil {
		return r, fmt.Errorf("matcher %s: age %q: want a duration such as 30d", r.Matcher, age)
	}
	if r.Age < store.MinRetention {
		return r, fmt.Errorf("matcher %s: age %s: want at least %v", r.Matcher, age, store.MinRetention)
	}
	return r, nil
}

// RetentionRules returns the rules in the terms of the store.
func RetentionRules(rules []Retention, names *translate.Translator) []retention.Rule {
	converted := make([]retention.Rule, len(rules))
	for i, r := range rules {
		converted[i] = retention.Rule{
			Name: r.Matcher, Age: r.Age, Filters: names.Filters(r.Matchers),
			Matches: matches(r.Matchers, names),
		}
	}
	return converted
}

// matches returns what reports whether a series is shown with labels that match.
func matches(matchers []*labels.Matcher, names *translate.Translator) func(storage.Series) bool {
	return func(s storage.Series) bool {
		shown := names.ToLabels(s)
		return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(shown.Get(m.Name)) })
	}
}
