package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/template"
)

const (
	// maxText bounds a label or an annotation of an alert, in bytes.
	maxText = 1 << 20
	// maxTexts bounds those of all alerts of a rule.
	maxTexts = 64 << 20
	// plainText is how long a text may become that is not expanded on trial.
	plainText = 16 << 10
)

// An evaluated is a group under evaluation. The module expands the templates of alerts without a bound. So those that may become
// long are expanded with bounds before, when the rule has asked its query: an error of that fails the rule alone.
type evaluated struct {
	group *promrules.Group
	// waiting are the rules that have not asked yet, by name
	waiting map[string][]*promrules.AlertingRule
	// current is the rule that asked last, and answers are those of the queries in its templates: the module asks the same ones again
	current promrules.RuleDetail
	answers map[templateQuery]promql.Vector
}

type templateQuery struct {
	text string
	at   int64 // nanoseconds
}

// evaluatedKey finds the evaluated of an evaluation in its context.
type evaluatedKey struct{}

func withGroup(ctx context.Context, g *promrules.Group) context.Context {
	e := &evaluated{group: g, waiting: map[string][]*promrules.AlertingRule{}}
	for _, rule := range g.Rules() {
		if r, ok := rule.(*promrules.AlertingRule); ok {
			e.waiting[r.Name()] = append(e.waiting[r.Name()], r)
		}
	}
	return context.WithValue(ctx, evaluatedKey{}, e)
}

// evaluateGroup evaluates the rules of a group once.
func evaluateGroup(ctx context.Context, g *promrules.Group, at time.Time) {
	promrules.DefaultEvalIterationFunc(withGroup(ctx, g), g, at)
}

// asking returns the rules that ask a query for the first time, of an evaluation. There may be several that differ in
// annotations alone.
func (e *evaluated) asking(ctx context.Context, text string) (asking []*promrules.AlertingRule) {
	detail := promrules.FromOriginContext(ctx)
	if detail.Kind != promrules.KindAlerting || detail.Query != text {
		return nil
	}
	e.waiting[detail.Name] = slices.DeleteFunc(e.waiting[detail.Name], func(r *promrules.AlertingRule) bool {
		asks := labels.Equal(r.Labels(), detail.Labels) && r.Query().String() == text
		if asks {
			asking = append(asking, r)
		}
		return asks
	})
	return asking
}

// again returns the answer to a query of a template that has been asked before.
func (e *evaluated) again(ctx context.Context, q templateQuery) (v promql.Vector, found bool) {
	if detail := promrules.FromOriginContext(ctx); detail.Kind != promrules.KindAlerting || detail.Name != e.current.Name || detail.Query != e.current.Query ||
		!labels.Equal(detail.Labels, e.current.Labels) {
		return nil, false
	}
	v, found = e.answers[q]
	return v, found
}

// ask evaluates a query of a rule or of a template. The texts that the result of an alerting rule makes must not be too long.
func (s *Service) ask(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
	e, _ := ctx.Value(evaluatedKey{}).(*evaluated)
	if e == nil {
		return s.query(ctx, text, at)
	}
	asking, q := e.asking(ctx, text), templateQuery{text, at.UnixNano()}
	if len(asking) > 0 {
		e.current, e.answers = promrules.FromOriginContext(ctx), map[templateQuery]promql.Vector{}
	} else if v, found := e.again(ctx, q); found {
		return v, nil
	}
	v, err := s.query(ctx, text, at)
	switch {
	case err != nil:
		return nil, err
	case len(asking) > 0:
		return v, s.checkTexts(ctx, e.group, asking, v)
	case e.answers != nil && !slices.ContainsFunc(v, func(s promql.Sample) bool { return s.H != nil }): // which templates may change
		e.answers[q] = v
	}
	return v, nil
}

// checkTexts returns an error if the result of the query of alerting rules makes texts that are too long.
func (s *Service) checkTexts(ctx context.Context, g *promrules.Group, asking []*promrules.AlertingRule, v promql.Vector) error {
	if len(v) == 0 {
		return nil
	}
	at := timestamp.Time(v[0].T).Add(g.QueryOffset())
	for _, r := range asking {
		c := textCheck{service: s, rule: r, at: at, texts: textsOf(r)}
		if err := c.all(ctx, v); err != nil {
			return fmt.Errorf("alert %q: %w", r.Name(), err)
		}
	}
	return nil
}

// A textCheck checks the texts of the alerts of a rule.
type textCheck struct {
	service *Service
	rule    *promrules.AlertingRule
	at      time.Time
	texts   []alertText
}

func (c textCheck) all(ctx context.Context, v promql.Vector) error {
	external := c.service.set.Load().config.ExternalLabels
	total := int64(0)
	for _, sample := range v {
		longest := longestValue(sample, external, c.service.externalURL())
		for _, t := range c.texts {
			size := t.bound(longest)
			if size > plainText || total+size > maxTexts {
				var err error
				if size, err = c.expand(ctx, t, sample, external); err != nil {
					return fmt.Errorf("%s: %w", t.what, err)
				}
			}
			if total += size; total > maxTexts {
				return fmt.Errorf("%s: all texts of its %d alerts are longer than %d bytes", t.what, len(v), maxTexts)
			}
		}
	}
	return nil
}

// longestValue is how long a value in a template of an alert may be.
func longestValue(sample promql.Sample, external labels.Labels, url string) int64 {
	longest := int64(max(len(url), scalarBytes))
	if sample.H != nil {
		longest = max(longest, histogramBytes(sample.H))
	}
	note := func(l labels.Label) { longest = max(longest, int64(len(l.Value))) }
	sample.Metric.Range(note)
	external.Range(note)
	return longest
}

// expand expands a text on trial and returns its length. What else than its length is wrong with it, the module tells in the alert.
func (c textCheck) expand(ctx context.Context, t alertText, sample promql.Sample, external labels.Labels) (int64, error) {
	s := c.service
	data := template.AlertTemplateData(sample.Metric.Map(), external.Map(), s.externalURL(), sample)
	x := &expansion{ctx: ctx}
	e := template.NewTemplateExpander(ctx, t.bounded, "__alert_"+c.rule.Name(), data, model.Time(timestamp.FromTime(c.at)), s.ask, s.o.ExternalURL, nil)
	e.Funcs(x.functions())
	_, _ = e.Expand()
	return x.printed, x.err
}

// textsOf returns the labels and annotations of a rule.
func textsOf(r *promrules.AlertingRule) (all []alertText) {
	add := func(kind string) func(l labels.Label) {
		return func(l labels.Label) { all = append(all, newAlertText(fmt.Sprintf("%s %q", kind, l.Name), l.Value)) }
	}
	r.Labels().Range(add("label"))
	r.Annotations().Range(add("annotation"))
	return all
}

// templateVariables are what the module puts before a template.
var templateVariables = strings.Join([]string{ //nolint:gochecknoglobals // a text
	"{{$labels := .Labels}}", "{{$externalLabels := .ExternalLabels}}", "{{$externalURL := .ExternalURL}}", "{{$value := .Value}}",
}, "")
