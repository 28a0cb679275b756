package conf

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
)

// A NameList is one of carbon's whitelist.conf and blacklist.conf: regular expressions, a line each.
type NameList struct {
	patterns []*pyregexp.Regexp
	skipped  []error
}

// ParseNameList reads a list as carbon 1.1.10 does: empty lines and those that begin with # mean nothing,
// and a line that is no regular expression is passed over. file is for errors.
func ParseNameList(file, text string) *NameList {
	l := &NameList{}
	for i, line := range lines(text) {
		pattern := strings.TrimSpace(line)
		if pattern == "" || strings.HasPrefix(line, "#") {
			continue
		}
		re, err := pyregexp.Compile(pattern)
		if err != nil {
			l.skipped = append(l.skipped, fmt.Errorf("%s:%d: %w", file, i+1, err))
			continue
		}
		l.patterns = append(l.patterns, re)
	}
	return l
}

func lines(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// Skipped returns why lines are passed over.
func (l *NameList) Skipped() []error { return l.skipped }

// Empty reports whether the list has no expression. An empty whitelist takes all names.
func (l *NameList) Empty() bool { return l == nil || len(l.patterns) == 0 }

// Has reports whether an expression of the list is found in a name. One that takes too long is an error:
// nothing may be taken or dropped by it.
func (l *NameList) Has(name string) (bool, error) {
	if l == nil {
		return false, nil
	}
	for _, re := range l.patterns {
		if found, err := re.Search(name); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// Rewrites are carbon's rewrite-rules.conf: what is replaced in names before and after the aggregation.
type Rewrites struct {
	pre, post []rewrite
	skipped   []error
}

type rewrite struct {
	pattern     *pyregexp.Regexp
	replacement string
}

// ParseRewrites reads rules as carbon 1.1.10 does: "pattern = replacement" in the sections [pre] and
// [post]. A line that is no rule is passed over; a section that comes again replaces the one before. file
// is for errors.
func ParseRewrites(file, text string) *Rewrites {
	r := &Rewrites{}
	var section *[]rewrite
	for i, line := range lines(text) {
		line = strings.TrimSpace(line)
		skip := func(format string, args ...any) {
			r.skipped = append(r.skipped, fmt.Errorf("%s:%d: %w", file, i+1, fmt.Errorf(format, args...)))
		}
		pattern, replacement, isRule := strings.Cut(line, "=")
		switch {
		case line == "", line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			if section = r.section(line[1 : len(line)-1]); section == nil {
				skip("%s: carbon applies only [pre] and [post]", line)
			}
		case !isRule:
			skip("%q is neither a section nor a rule", line)
		case section == nil:
			skip("the rule is in no section that is applied")
		default:
			re, err := pyregexp.Compile(strings.TrimSpace(pattern))
			if err != nil {
				skip("%w", err)
				continue
			}
			*section = append(*section, rewrite{re, strings.TrimSpace(replacement)})
		}
	}
	return r
}

// section returns the rules of a section, which begins anew; nil if carbon does not apply it.
func (r *Rewrites) section(name string) *[]rewrite {
	section := map[string]*[]rewrite{"pre": &r.pre, "post": &r.post}[strings.ToLower(name)]
	if section != nil {
		*section = nil
	}
	return section
}

// Skipped returns why lines are passed over.
func (r *Rewrites) Skipped() []error { return r.skipped }

// Apply returns a name after the rules of [pre], and after those of [post] too. An error means that a rule
// takes too long for the name, or refers to a group that its pattern does not have.
func (r *Rewrites) Apply(name string) (pre, post string, err error) {
	if r == nil {
		return name, name, nil
	}
	if pre, err = applyRewrites(r.pre, name); err != nil {
		return "", "", err
	}
	post, err = applyRewrites(r.post, pre)
	return pre, post, err
}

func applyRewrites(rules []rewrite, name string) (string, error) {
	for _, rule := range rules {
		var err error
		if name, err = rule.pattern.Sub(rule.replacement, name); err != nil {
			return "", err
		}
	}
	return name, nil
}
