package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// The types of rules: where the value comes from that a rule makes names of.
const (
	ruleMetric       = "METRIC"        // the metric
	ruleMetricCustom = "METRIC_CUSTOM" // a custom field of the metric's UIDMeta
	ruleTagk         = "TAGK"          // the value of the tag whose key is Field
	ruleTagkCustom   = "TAGK_CUSTOM"   // a custom field of the UIDMeta of the tag key Field
	ruleTagvCustom   = "TAGV_CUSTOM"   // a custom field of the UIDMeta of the tag value Field
)

// A rule is a schema.TreeRule made ready.
type rule struct {
	schema.TreeRule
	label     string                // what a TSD calls it: [tree:level:order:type]
	regex     *javaregexp.Regexp    // nil without one
	separator *javaregexp.Separator // nil without one
}

func compileRule(tree uint16, doc schema.TreeRule) (*rule, error) {
	doc.Type = strings.ToUpper(doc.Type) // OpenTSDB 2.4 TreeRule.stringToType takes any case
	r := &rule{TreeRule: doc, label: fmt.Sprintf("[%d:%d:%d:%s]", tree, doc.Level, doc.Order, doc.Type)}
	if err := r.validate(); err != nil {
		return nil, err
	}
	var err error
	if doc.Regex != "" {
		if r.regex, err = javaregexp.Compile(doc.Regex); err != nil {
			return nil, fmt.Errorf("regex %q: %w", doc.Regex, err)
		}
		return r, nil // a TSD does not look at the separator then
	}
	if doc.Separator != "" {
		if r.separator, err = javaregexp.CompileSeparator(doc.Separator); err != nil {
			return nil, fmt.Errorf("separator %q: %w", doc.Separator, err)
		}
	}
	return r, nil
}

// validate is OpenTSDB 2.4 TreeRule.validateRule.
func (r *rule) validate() error {
	switch r.Type {
	case ruleMetric:
	case ruleTagk:
		if r.Field == "" {
			return errors.New("a TAGK rule needs a field, the tag key")
		}
	case ruleMetricCustom, ruleTagkCustom, ruleTagvCustom:
		if r.Field == "" || r.CustomField == "" {
			return fmt.Errorf("a %s rule needs a field and a customField", r.Type)
		}
	default:
		return fmt.Errorf("type %q: want METRIC, METRIC_CUSTOM, TAGK, TAGK_CUSTOM or TAGV_CUSTOM", r.Type)
	}
	if r.rest() && r.Regex+r.Separator+r.DisplayFormat != "" {
		return errRestForm
	}
	if r.Level < 0 || r.Order < 0 || r.RegexGroupIdx < 0 {
		return errors.New("level, order and regexGroupIdx begin at 0")
	}
	return nil
}

// probes are values that no sensible separator splits into empty pieces.
var probes = [...]string{"a.b-c_d/e:f g", "web01.example.com"}

// check returns why the rule can never match.
func (r *rule) check() error {
	if r.regex != nil && r.regex.NumSubexp() <= r.RegexGroupIdx {
		return fmt.Errorf("regex %q has %d groups in parentheses, regexGroupIdx %d wants number %d",
			r.Regex, r.regex.NumSubexp(), r.RegexGroupIdx, r.RegexGroupIdx+1)
	}
	if r.separator != nil {
		for _, probe := range probes {
			if pieces, err := r.separator.Split(probe, backtrack.NewSteps(mostSteps, nil)); err != nil {
				return fmt.Errorf("separator %q takes more than %d steps for a value such as %q", r.Separator, mostSteps, probe)
			} else if len(pieces) == 0 {
				return fmt.Errorf(`separator %q is a regular expression that takes every character for one: escape it (\\.)`, r.Separator)
			}
		}
	}
	return nil
}

func (r *rule) custom() bool {
	return r.Type == ruleMetricCustom || r.Type == ruleTagkCustom || r.Type == ruleTagvCustom
}

// A Subject is a series on its way through the rules.
type Subject struct {
	TSUID []byte
	storage.Series
	// Custom returns the custom fields of a name's UIDMeta, nil if it has none. It may be nil when
	// no rule asks.
	Custom func(kind storage.NameKind, name string) map[string]string
	// Rest gives the tags of a stored series as people see them, by key, except for those whose
	// stored keys are shown already; nil: as they are.
	Rest func(s storage.Series, shown map[string]bool) []storage.Tag
}

// value returns what the rule looks at. ok is false when the series does not have it. said records
// what a TSD reports.
func (r *rule) value(s Subject, said *transcript) (value string, ok bool) {
	switch r.Type {
	case ruleMetric:
		return s.Metric, true
	case ruleTagk:
		for _, t := range s.Tags {
			if t.Key == r.Field {
				said.say("Matched tagk [", r.Field, "] for rule: ", r.label)
				return t.Value, true
			}
		}
		said.say("No match on tagk [", r.Field, "] for rule: ", r.label)
		return "", false
	}
	kind, name, ok := r.described(s)
	if !ok {
		said.say("No match on ", kind.String(), " [", r.Field, "] for rule: ", r.label)
		return "", false
	}
	if kind != storage.MetricName {
		said.say("Matched ", kind.String(), " [", r.Field, "] for rule: ", r.label)
	}
	var fields map[string]string
	if s.Custom != nil {
		fields = s.Custom(kind, name)
	}
	if value, ok = fields[r.CustomField]; !ok {
		said.say("No match on custom tag [", r.CustomField, "] for rule: ", r.label)
	}
	return value, ok
}

// described returns the name whose UIDMeta the rule reads.
func (r *rule) described(s Subject) (kind storage.NameKind, name string, ok bool) {
	switch r.Type {
	case ruleTagkCustom:
		for _, t := range s.Tags {
			if t.Key == r.Field {
				return storage.TagKeyName, t.Key, true
			}
		}
		return storage.TagKeyName, "", false
	case ruleTagvCustom:
		for _, t := range s.Tags {
			if t.Value == r.Field {
				return storage.TagValueName, t.Value, true
			}
		}
		return storage.TagValueName, "", false
	default:
		return storage.MetricName, s.Metric, true
	}
}

// mostSteps is how many steps a regular expression that needs to go back may take for a value: the
// sender of a new series waits.
const mostSteps = 20_000

// extract returns the piece of a value that the regular expression wants, "" when there is none.
// failed tells why that is not known.
func (r *rule) extract(value string, said *transcript) (piece, failed string) {
	m, err := r.regex.Find(value, backtrack.NewSteps(mostSteps, nil))
	if err != nil {
		return "", fmt.Sprintf("the regex of rule %s takes more than %d steps for a value", r.label, mostSteps)
	}
	if m == nil {
		return "", ""
	}
	if group := r.RegexGroupIdx + 1; group > r.regex.NumSubexp() {
		said.say("Regex group index [", strconv.Itoa(r.RegexGroupIdx), "] for rule ", r.label,
			" was out of bounds [", strconv.Itoa(r.regex.NumSubexp()), "]")
		return "", ""
	} else if begin, end := m[2*group], m[2*group+1]; begin < end {
		return value[begin:end], ""
	}
	said.say("Extracted value for rule ", r.label, " was null or empty")
	return "", ""
}

// format makes the name to show of a value and the piece of it. Tokens are replaced one kind after
// the other, so those within a value are too, as in OpenTSDB 2.4 TreeBuilder.setCurrentName.
func (r *rule) format(s Subject, value, piece string, said *transcript) string {
	if r.DisplayFormat == "" {
		return piece
	}
	name := expand(r.DisplayFormat, "{ovalue}", value)
	name = expand(name, "{value}", piece)
	if strings.Contains(name, "{tsuid}") {
		name = expand(name, "{tsuid}", schema.FormatTSUID(s.TSUID))
	}
	if !strings.Contains(name, "{tag_name}") {
		return name
	}
	tag := r.CustomField
	switch r.Type {
	case ruleTagk:
		tag = r.Field
	case ruleMetric:
		tag = ""
		said.say("Display rule ", r.label, " was of the wrong type to match on {tag_name}")
	}
	return expand(name, "{tag_name}", tag)
}

// longestName is how long a name may become, in bytes: a value that contains tokens can multiply.
const longestName = 1 << 20

// expand replaces a token; a name that becomes too long is none.
func expand(name, token, value string) string {
	if strings.Count(name, token)*len(value) > longestName {
		return ""
	}
	return strings.ReplaceAll(name, token, value)
}
