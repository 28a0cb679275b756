// Package tagspec parses and matches graphite-web's conditions on tags (tag=value, tag!=~regexp),
// and converts labels to Graphite's tags and back. It never reads a store.
package tagspec

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A Spec is a condition on a tag, as seriesByTag and /tags/findSeries take it: tag=v, tag!=v,
// tag=~re, tag!=~re. A tag that a series does not have is the empty text.
type Spec struct {
	Label string // of series: the one that the tag shows

	tag     string
	negated bool
	value   string
	re      *pyregexp.Regexp // nil: value itself
	ctx     context.Context  //nolint:containedctx // of the request, whose conditions these are: a value may take long to try
	// tooMuch is set when a regular expression was given up. All specs of a request share it.
	tooMuch *atomic.Pointer[string]
}

// tagSpecSyntax is parse_tagspec of graphite-web's tags/base.py.
func tagSpecSyntax() *regexp.Regexp { return regexp.MustCompile(`^([^;!=]+)(!?=~?)([^;]*)$`) }

// mostTagSpecs bounds the conditions of one request: each is tried on each series.
const mostTagSpecs = 1000

// Specs are the conditions of one request. A series must satisfy all of them.
type Specs []Spec

// Parse reads conditions. At least one of them must need a tag, else nearly everything would pass.
func Parse(ctx context.Context, texts []string) (Specs, error) {
	if len(texts) == 0 {
		return nil, &python.InputError{Reason: "no tag expressions specified"}
	}
	if len(texts) > mostTagSpecs {
		return nil, fmt.Errorf("%w: %d tag expressions, at most %d are looked at in one request", storage.ErrLimit, len(texts), mostTagSpecs)
	}
	syntax, tooMuch := tagSpecSyntax(), new(atomic.Pointer[string])
	specs := make(Specs, len(texts))
	needy := false
	for i, text := range texts {
		m := syntax.FindStringSubmatch(text)
		if m == nil {
			return nil, &python.InputError{Reason: "Invalid tagspec " + python.Excerpt(text, python.MaxExcerpt)}
		}
		s := Spec{tag: m[1], Label: Label(m[1]), negated: m[2][0] == '!', value: m[3], ctx: ctx, tooMuch: tooMuch}
		if strings.HasSuffix(m[2], "~") {
			re, err := Anchored(m[3])
			if err != nil {
				return nil, &python.InputError{Reason: fmt.Sprintf("Invalid tagspec %s: %v", python.Excerpt(text, python.MaxExcerpt), err)}
			}
			s.re = re
		}
		specs[i] = s
		needy = needy || !s.accepts("")
	}
	if !needy {
		return nil, &python.InputError{Reason: "At least one tagspec must not match the empty string"}
	}
	return specs, specs.Err()
}

// Anchored returns a regular expression as graphite-web's tag database has them: bound to the start
// of the text, unless it begins with ^, and searched for.
func Anchored(pattern string) (*pyregexp.Regexp, error) {
	if !strings.HasPrefix(pattern, "^") {
		pattern = "^(" + pattern + ")"
	}
	return pyregexp.Compile(pattern)
}

// match reports whether labels satisfy the condition.
func (s Spec) match(ls labels.Labels) bool { return s.accepts(ls.Get(s.Label)) }

// accepts reports whether a value satisfies the condition. A condition that takes too long to try
// is not satisfied, see Specs.Err.
func (s Spec) accepts(value string) bool {
	if s.re == nil {
		return (value == s.value) != s.negated
	}
	if s.tooMuch.Load() != nil {
		return false // the answer is an error already
	}
	if err := s.ctx.Err(); err != nil {
		text := err.Error()
		s.tooMuch.CompareAndSwap(nil, &text)
		return false
	}
	ok, err := s.re.Search(value)
	if err != nil {
		text := s.tag + ": " + err.Error()
		s.tooMuch.Store(&text)
		return false
	}
	return ok != s.negated
}

// Err returns an error if a spec may have refused a value wrongly. It must be called after
// the last match.
func (specs Specs) Err() error {
	if len(specs) == 0 {
		return nil
	}
	if err := specs[0].ctx.Err(); err != nil {
		return err
	}
	if text := specs[0].tooMuch.Load(); text != nil {
		return &python.InputError{Reason: "tagspec of " + *text}
	}
	return nil
}

// Match reports whether labels satisfy all conditions.
func (specs Specs) Match(ls labels.Labels) bool {
	for _, s := range specs {
		if !s.match(ls) {
			return false
		}
	}
	return true
}

// Filters returns a prefilter: whatever satisfies the specs passes it. Series that pass have to be
// matched, and to be asked whether they are plain, which no tag condition is about.
func (specs Specs) Filters(names *translate.Translator) []storage.Filter {
	conditions := make([]translate.Condition, len(specs))
	for i, s := range specs {
		c := translate.Condition{Label: s.Label}
		if s.re == nil && !s.negated {
			c.Values = []string{s.value}
		} else {
			c.Match = s.accepts
		}
		conditions[i] = c
	}
	return names.ConditionFilters(conditions)
}

// Tagged passes what is not stored as nothing but a metric name. Few plain series get by, if
// their names are too long for a metric.
func Tagged(names *translate.Translator) storage.Filter {
	bare := names.FromLabels(labels.FromStrings(model.MetricNameLabel, "x")).Tags[0]
	return storage.Filter{Keys: []string{bare.Key}, Match: func(value string) bool { return value != bare.Value }, Absent: true}
}

// Name is the tag that is the metric name.
const Name = "name"

// Label returns the label that a tag is, the inverse of Tag.
func Label(tag string) string {
	switch {
	case tag == Name:
		return model.MetricNameLabel
	case !strings.Contains(tag, "%"):
		return tag
	}
	label := tag
	translate.PathLabels("~x;" + tag + "=v").Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			label = l.Name
		}
	})
	if Tag(label) != tag {
		return tag // a label with a % of its own
	}
	return label
}

// Tag returns the tag that a label is: the metric name is the tag "name", and a label that is
// called so, or has characters that no tag may have, is a tag under the escaped name that it has in
// a Graphite name.
func Tag(label string) string {
	switch {
	case label == model.MetricNameLabel:
		return Name
	case label != Name && !strings.ContainsAny(label, ";!^=") && utf8.ValidString(label):
		return label
	}
	_, pair, _ := strings.Cut(translate.LabelsPath(labels.FromStrings(model.MetricNameLabel, "x", label, "v")), ";")
	tag, _, _ := strings.Cut(pair, "=")
	return tag
}
