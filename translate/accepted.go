package translate

import (
	"regexp/syntax"

	"github.com/prometheus/prometheus/model/labels"
)

// accepted is the values that a condition accepts: those other than "" that are known without
// trying, and a way to try.
type accepted struct {
	any     bool     // all of them
	finite  bool     // only values
	values  []string // when finite; may hold "" if that is accepted
	matches func(value string) bool
}

func acceptedBy(m *labels.Matcher) accepted {
	a := expected(m)
	a.matches = m.Matches
	return a
}

// expected is acceptedBy except for matches.
func expected(m *labels.Matcher) accepted {
	switch m.Type {
	case labels.MatchEqual:
		return accepted{finite: true, values: []string{m.Value}}
	case labels.MatchNotEqual:
		return accepted{any: m.Value == ""}
	case labels.MatchRegexp:
		if m.Value == "" { // what an empty variable of Grafana makes
			return accepted{finite: true, values: []string{""}}
		}
		if matchesAny(m.Value) {
			return accepted{any: true}
		}
		if set := m.SetMatches(); set != nil {
			return accepted{finite: true, values: set}
		}
	case labels.MatchNotRegexp:
		if m.Value == "" {
			return accepted{any: true}
		}
		if matchesAny(m.Value) {
			return accepted{finite: true, values: emptyIf(m.Matches(""))}
		}
	}
	return accepted{}
}

func emptyIf(accepted bool) []string {
	if accepted {
		return []string{""}
	}
	return nil
}

// matchesAny reports whether a regexp is seen to match every string but possibly the empty one: .*
// and .+ as people and Grafana write them.
func matchesAny(pattern string) bool {
	// the flags of labels.FastRegexMatcher
	re, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if err != nil {
		return false
	}
	least, ok := leastOfAny(re)
	return ok && least <= 1
}

// leastOfAny returns n for a regexp that is seen to match exactly the strings of at least n
// characters.
func leastOfAny(re *syntax.Regexp) (n int, ok bool) {
	switch re.Op {
	case syntax.OpStar:
		return 0, re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpPlus:
		return 1, re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpCapture:
		return leastOfAny(re.Sub[0])
	case syntax.OpConcat:
		return leastOfAll(withoutAnchors(re.Sub))
	}
	return 0, false
}

func leastOfAll(parts []*syntax.Regexp) (n int, ok bool) {
	for _, part := range parts {
		least, ok := leastOfAny(part)
		if !ok {
			return 0, false
		}
		n += least
	}
	return n, len(parts) > 0
}

// withoutAnchors leaves out what adds nothing: the regexps of matchers are anchored.
func withoutAnchors(parts []*syntax.Regexp) []*syntax.Regexp {
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts = parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		parts = parts[:n-1]
	}
	return parts
}
