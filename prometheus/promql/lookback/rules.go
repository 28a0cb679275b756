// Package lookback decides for how long the newest sample of each series counts, where series have
// points more seldom than Prometheus' lookback allows. It evaluates nothing, and changes nothing
// without a rule.
package lookback

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
)

// Most is the longest lookback.
const Most = 48 * time.Hour

// mostRules bounds the rules of a request.
const mostRules = 100

// ByStep is the word for a lookback that the step of a series decides.
const ByStep = "step"

// A Rule is the lookback of the metrics of a pattern.
type Rule struct {
	pattern *regexp.Regexp // nil: all metrics
	span    time.Duration  // 0: by the step
}

// Rules are tried in their order; the first one that matches counts.
type Rules []Rule

// Parse reads rules: "step", a duration, or PATTERN=step, PATTERN=DURATION. Patterns are RE2 and match the
// whole name of a metric.
func Parse(texts []string) (Rules, error) {
	if len(texts) > mostRules {
		return nil, fmt.Errorf("%d rules of lookback, more than %d", len(texts), mostRules)
	}
	var rules Rules
	for _, text := range texts {
		r, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("lookback %q: %w", text, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(text string) (r Rule, err error) {
	value := text
	if at := strings.LastIndexByte(text, '='); at >= 0 {
		if r.pattern, err = regexp.Compile("^(?s:" + text[:at] + ")$"); err != nil {
			return r, err
		}
		value = text[at+1:]
	}
	if value == ByStep {
		return r, nil
	}
	span, err := model.ParseDuration(value)
	switch {
	case err != nil:
		return r, fmt.Errorf("want %s or a duration, or PATTERN= before it: %w", ByStep, err)
	case span <= 0 || time.Duration(span) > Most:
		return r, fmt.Errorf("the duration must be above 0 and at most %v", Most)
	}
	r.span = time.Duration(span)
	return r, nil
}

// of returns the first rule for a metric; false: there is none.
func (r Rules) of(metric string) (Rule, bool) {
	for _, rule := range r {
		if rule.pattern == nil || rule.pattern.MatchString(metric) {
			return rule, true
		}
	}
	return Rule{}, false
}

// oncePerMetric is of, for series that come metric by metric: patterns are tried once for each.
func (r Rules) oncePerMetric() func(metric string) (Rule, bool) {
	var last string
	rule, ok := r.of(last)
	return func(metric string) (Rule, bool) {
		if metric != last {
			last = metric
			rule, ok = r.of(metric)
		}
		return rule, ok
	}
}

// ofStep returns the lookback of a series with a step: one missed point is no gap. It is never
// shorter than Prometheus' own.
func ofStep(step, base time.Duration) time.Duration { return min(max(2*step, base), max(Most, base)) }

type rulesKey struct{}

// With returns a context whose queries have these rules instead of those of the flags.
func With(ctx context.Context, r Rules) context.Context { return context.WithValue(ctx, rulesKey{}, r) }
