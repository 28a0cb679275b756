package translate

import (
	"errors"
	"fmt"
	"regexp"
)

// Mode is how metric names and label values are stored.
type Mode int

const (
	// Literal leaves what OpenTSDB allows as it is and escapes the rest: for new data, and for data
	// that is shared with other writers of OpenTSDB.
	Literal Mode = iota
	// Compat escapes as Prometheus' example adapter for OpenTSDB did: for tables that it filled.
	Compat
)

var errMode = errors.New("mode is neither literal nor compat")

func (m Mode) String() string {
	if m == Compat {
		return "compat"
	}
	return "literal"
}

// tagValue returns the stored form of a label value, which is not empty.
func (m Mode) tagValue(value string) string {
	if m == Compat {
		return escape(value)
	}
	return escapeLiteral(value)
}

// labelValue returns what a stored value shows as: a value that no label is stored as shows as
// itself.
func (m Mode) labelValue(stored string) string {
	if m == Compat {
		if value, ok := unescape(stored); ok {
			return value
		}
		return stored
	}
	return unescapeLiteral(stored)
}

// A Rule sets the mode of the metric names that match Pattern: RE2 over the whole name, a dot
// matching anything. Series without a metric name have the empty one.
type Rule struct {
	Pattern string
	Mode    Mode
}

// rule is a Rule ready for use.
type rule struct {
	pattern *regexp.Regexp
	mode    Mode
}

func (r Rule) compile() (rule, error) {
	if r.Mode != Literal && r.Mode != Compat {
		return rule{}, fmt.Errorf("pattern %q: %w", r.Pattern, errMode)
	}
	// The pattern is first parsed alone: its unmatched parenthesis must not pair with ours.
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return rule{}, fmt.Errorf("pattern %q: %w", r.Pattern, err)
	}
	pattern, err := regexp.Compile("^(?s:" + r.Pattern + ")$")
	if err != nil {
		return rule{}, fmt.Errorf("pattern %q: %w", r.Pattern, err)
	}
	return rule{pattern, r.Mode}, nil
}

// mode returns the mode of a metric name.
func (m *modes) mode(name string) Mode {
	if !m.compat {
		return Literal
	}
	for _, r := range m.rules {
		if r.pattern.MatchString(name) {
			return r.mode
		}
	}
	return Literal
}

// modes decides the mode of a metric name.
type modes struct {
	rules  []rule
	compat bool // some rule has Compat
}
