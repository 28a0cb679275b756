// Package pathlabel reads the label of selectors that asks for paths of Graphite:
// {__graphite__="servers.*.load"}. It finds no series. No series has the label.
package pathlabel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Name is the name of the label. VictoriaMetrics has it, too.
const Name = "__graphite__"

// Has reports whether matchers ask for paths.
func Has(matchers []*labels.Matcher) bool {
	return slices.ContainsFunc(matchers, isPath)
}

func isPath(m *labels.Matcher) bool { return m.Name == Name }

// Split returns the patterns that matchers ask for, each once, and the other matchers.
func Split(matchers []*labels.Matcher) (patterns []string, others []*labels.Matcher, err error) {
	if !Has(matchers) {
		return nil, matchers, nil
	}
	others = make([]*labels.Matcher, 0, len(matchers))
	for _, m := range matchers {
		if !isPath(m) {
			others = append(others, m)
			continue
		}
		if err := check(m); err != nil {
			return nil, nil, err
		}
		if p := pattern(m.Value); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return patterns, others, nil
}

// Check refuses what a matcher of paths cannot be.
func Check(matchers []*labels.Matcher) error {
	for _, m := range matchers {
		if isPath(m) {
			if err := check(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func check(m *labels.Matcher) error {
	switch {
	case m.Type != labels.MatchEqual:
		return fmt.Errorf("matcher %s: %s is a pattern of Graphite (* ? [] {}), which only = can ask for", m, Name)
	case m.Value == "":
		return fmt.Errorf("matcher %s: the pattern is empty", m)
	}
	return nil
}

// pattern returns the pattern of a value. Grafana writes several values of a variable as (a|b) for
// Prometheus, which is {a,b}.
func pattern(value string) string {
	var b strings.Builder
	for {
		begin := strings.IndexByte(value, '(')
		if begin < 0 {
			break
		}
		b.WriteString(value[:begin])
		value = value[begin:]
		end := strings.IndexAny(value[1:], "()") + 1
		if end == 0 || value[end] != ')' || !strings.Contains(value[:end], "|") {
			b.WriteByte('(')
			value = value[1:]
			continue
		}
		b.WriteString("{" + strings.ReplaceAll(value[1:end], "|", ",") + "}")
		value = value[end+1:]
	}
	b.WriteString(value)
	return b.String()
}
