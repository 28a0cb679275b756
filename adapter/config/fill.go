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
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A Fill is a rule in the configuration file about rollup tables that are filled from points.
type Fill struct {
	Matcher   string            // a selector of PromQL; empty: all series
	Matchers  []*labels.Matcher // of Matcher
	Intervals []string          // empty: all of --storage.rollups that can be filled
	Delay     time.Duration     // after which an interval counts as closed
	Back      time.Duration     // how far back intervals are filled
}

// Defaults of a Fill.
const (
	defaultFillDelay = 15 * time.Minute
	defaultFillBack  = 90 * 24 * time.Hour
)

// ParseFill reads the list of rules about rollup tables that are filled. It reports all errors at once, each with its
// line.
func ParseFill(node *yaml.Node) ([]Fill, error) {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		return nil, fmt.Errorf("line %d: rollups: want a list of rules, such as [{intervals: [1h]}]", node.Line)
	}
	return yamlRules(node, "rollups", parseFillRule, func(r Fill) string { return fmt.Sprintf("matcher %q", r.Matcher) })
}

// A fillReader reads the keys of a rule.
type fillReader struct {
	rule        Fill
	delay, back string
}

func (f *fillReader) fields() yamlFields {
	return yamlFields{
		"matcher": yamlText(&f.rule.Matcher), "intervals": yamlTexts(&f.rule.Intervals), "delay": yamlText(&f.delay), "back": yamlText(&f.back),
	}
}

func parseFillRule(node *yaml.Node) (Fill, error) {
	keys := fillReader{rule: Fill{Delay: defaultFillDelay, Back: defaultFillBack}}
	read := keys.fields().read(node, "a rule")
	r, delay, back := keys.rule, keys.delay, keys.back
	if read != nil {
		return r, read
	}
	var err error
	if r.Matcher != "" {
		if r.Matchers, err = pathlabel.ParseLabels(r.Matcher); err != nil {
			return r, fmt.Errorf("matcher %s: %w", r.Matcher, err)
		}
	}
	for _, of := range []struct {
		key, text   string
		to          *time.Duration
		least, most time.Duration
	}{
		{"delay", delay, &r.Delay, job.MinDelay, 30 * 24 * time.Hour},
		{"back", back, &r.Back, 24 * time.Hour, job.MaxBack},
	} {
		if of.text == "" {
			continue
		}
		d, err := model.ParseDuration(of.text)
		switch *of.to = time.Duration(d); {
		case err != nil:
			return r, fmt.Errorf("%s %q: want a duration such as 30d", of.key, of.text)
		case *of.to < of.least || *of.to > of.most:
			return r, fmt.Errorf("%s %s: want at least %v and at most %v", of.key, of.text, model.Duration(of.least), model.Duration(of.most))
		}
	}
	return r, nil
}

// FillRules returns the rules in the terms of the store, or what the rollup tables have no place for.
func FillRules(rules []Fill, names *translate.Translator, c *rollup.Config) ([]job.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	if c == nil {
		return nil, errors.New("rollups: --storage.rollups is not set: it tells which rollup tables there are")
	}
	for _, name := range job.Aggregations() {
		if _, ok := c.IDs[name]; !ok {
			return nil, fmt.Errorf("rollups: --storage.rollups has no id of the aggregation %s (aggregationIds)", name)
		}
	}
	for name, id := range c.IDs {
		if id == own.WindowAggregation {
			return nil, fmt.Errorf("rollups: --storage.rollups has the id %d for %s (aggregationIds): what is filled has cells of its own with this id", id, name)
		}
	}
	converted := make([]job.Rule, len(rules))
	for n, r := range rules {
		intervals, err := r.intervals(c)
		if err != nil {
			return nil, fmt.Errorf("rollups: %w", err)
		}
		converted[n] = job.Rule{
			Name: r.Matcher, Filters: names.Filters(r.Matchers), Matches: matches(r.Matchers, names),
			Intervals: intervals, Delay: r.Delay, Back: r.Back,
		}
	}
	return converted, nil
}

// intervals returns the intervals that are filled.
func (r *Fill) intervals(c *rollup.Config) (list []*rollup.Interval, err error) {
	if len(r.Intervals) == 0 {
		for i := range c.Intervals {
			if job.CanFill(&c.Intervals[i]) {
				list = append(list, &c.Intervals[i])
			}
		}
		if len(list) == 0 {
			return nil, errors.New("--storage.rollups has no interval that can be filled: one of at most a day that divides a day and its row")
		}
	}
	for _, name := range r.Intervals {
		i, ok := c.Interval(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("intervals: --storage.rollups has no interval %q", name)
		case i.Default:
			return nil, fmt.Errorf("intervals: %q is the default interval, which stands for the points themselves", name)
		case !job.CanFill(i):
			return nil, fmt.Errorf("intervals: %q cannot be filled: an interval must divide a day and its row", name)
		case slices.Contains(list, i):
			return nil, fmt.Errorf("intervals: %q is named twice", name)
		}
		list = append(list, i)
	}
	for _, i := range list {
		for n := range c.Intervals {
			if other := &c.Intervals[n]; other != i && (other.Table == i.Table || other.PreAggregated == i.Table) || i.PreAggregated == i.Table {
				return nil, fmt.Errorf("intervals: %q has the table %s together with others, whose values cannot be told from its own", i.Name, i.Table)
			}
		}
	}
	return list, nil
}
