package translate

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

func parseConditions(t *testing.T, lines []string) (conditions []Condition) {
	for _, line := range lines {
		label, rest := parseName(t, line)
		c := Condition{Label: label}
		switch prefix, isPrefix := strings.CutSuffix(rest, "*"); {
		case isPrefix:
			c.Match = func(v string) bool { return strings.HasPrefix(v, strings.TrimSpace(prefix)) }
		case rest != "":
			c.Values = []string{}
			for value := range strings.FieldsSeq(rest) {
				c.Values = append(c.Values, unquote(t, value))
			}
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// An empty list of values matches nothing, not everything.
func TestConditionNone(t *testing.T) {
	tr := &Translator{limits: storedLimits}
	s := tr.FromLabels(labels.FromStrings(nameLabel, "m", "a", "b"))
	for _, label := range []string{nameLabel, "a", "absent"} {
		if !passesAll(tr.ConditionFilters([]Condition{{Label: label}}), s) {
			t.Errorf("%s: no condition, but %q does not pass", label, s)
		}
		if passesAll(tr.ConditionFilters([]Condition{{Label: label, Values: []string{}}}), s) {
			t.Errorf("%s: no value is accepted, but %q passes", label, s)
		}
	}
}
