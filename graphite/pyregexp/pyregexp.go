// Package pyregexp matches Python's regular expressions as Python's re module does, with bounds on
// time and memory. It is what Graphite's functions, tag conditions and carbon's configuration are
// written for. It never falls back on Go's regexp, which means other things.
package pyregexp

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// Regexp is a regular expression as Python's re reads it, which is what aliasSub, grep and tag
// conditions are written in: it knows look-around, references to groups and possessive repeats, and
// `(.*)` matches twice in a replacement, once empty at the end. It backtracks, on a stack of its
// own, and is bounded in every direction: patterns in length and depth, matching in steps and
// places to go back to, replacements in length. A Regexp is safe for concurrent use.
type Regexp struct {
	program *backtrack.Program
	groups  int
	names   map[string]int
}

// Limits of regular expressions. Errors name them.
const (
	// MaxPattern is how many characters a pattern may have.
	MaxPattern = 1 << 16
	// maxNesting is how deep groups may be nested. Python's own limit, its stack, is not much above
	// it.
	maxNesting = 200
	// maxSteps bounds the work for one text, about 50 ms.
	maxSteps = 4_000_000
	// MaxReplaced is how many bytes Sub may make of a text.
	MaxReplaced = 8 << 20
)

// ErrTooExpensive means that matching a text needs more than is allowed. Its text names the limit.
var ErrTooExpensive = backtrack.ErrTooExpensive

var errReplaced = fmt.Errorf("%w: a replacement makes a text of more than %d bytes", ErrTooExpensive, MaxReplaced)

// Compile reads a pattern of Python 3.11's re.
func Compile(pattern string) (*Regexp, error) {
	if len(pattern) > MaxPattern && utf8.RuneCountInString(pattern) > MaxPattern {
		return nil, fmt.Errorf("regular expression %.80q: more than %d characters", pattern, MaxPattern)
	}
	p := &parser{names: map[string]int{}, groups: 1}
	p.Src = []rune(pattern)
	root, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("regular expression %.80q: %w", pattern, err)
	}
	program := backtrack.Compile(root, backtrack.Options{Groups: p.groups, MostSteps: maxSteps})
	return &Regexp{program: program, groups: p.groups, names: p.names}, nil
}

// Search reports whether the pattern matches anywhere in text.
func (r *Regexp) Search(text string) (bool, error) {
	m := r.program.Match(text, nil)
	defer m.End()
	_, ok := m.Search(0, false)
	return ok, m.Err()
}

// Match reports whether the pattern matches at the start of text.
func (r *Regexp) Match(text string) (bool, error) {
	m := r.program.Match(text, nil)
	defer m.End()
	_, ok := m.At(0, false)
	return ok, m.Err()
}

// HasGroup reports whether the pattern has a group of that name.
func (r *Regexp) HasGroup(name string) bool { return r.names[name] > 0 }

// Groups matches the pattern at the start of text and returns what its named groups matched, without
// those that took no part; nil if the pattern does not match.
func (r *Regexp) Groups(text string) (map[string]string, error) {
	m := r.program.Match(text, nil)
	defer m.End()
	if _, ok := m.At(0, false); !ok {
		return nil, m.Err()
	}
	groups := make(map[string]string, len(r.names))
	for name, n := range r.names {
		if begin, end := m.Group(n); end >= 0 {
			groups[name] = text[begin:end]
		}
	}
	return groups, nil
}

// Sub replaces each match in text by template, in which `\1`, `\g<1>` and `\g<name>` stand for
// groups.
func (r *Regexp) Sub(template, text string) (string, error) {
	parts, err := r.template(template)
	if err != nil {
		return "", fmt.Errorf("replacement %.80q: %w", template, err)
	}
	m := r.program.Match(text, nil)
	defer m.End()
	var b strings.Builder
	at, copied, advance := 0, 0, false
	for at <= len(text) {
		end, ok := m.Search(at, advance)
		if !ok {
			break
		}
		begin, _ := m.Group(0)
		b.WriteString(text[copied:begin])
		if expand(&b, text, m, parts); b.Len() > MaxReplaced {
			return "", errReplaced
		}
		// After an empty match the next one must not be empty at the same place; after another it
		// may be.
		at, copied, advance = end, end, end == begin
	}
	b.WriteString(text[copied:])
	return b.String(), m.Err()
}

// expand writes a replacement, up to the limit; a group that did not match is empty.
func expand(b *strings.Builder, text string, m *backtrack.Match, parts []templatePart) {
	for _, p := range parts {
		if b.Len() > MaxReplaced {
			return
		}
		b.WriteString(p.text)
		if p.group < 0 {
			continue
		}
		if begin, end := m.Group(p.group); end >= 0 {
			b.WriteString(text[begin:end])
		}
	}
}

// templatePart is literal text and then a group, or -1.
type templatePart struct {
	text  string
	group int
}

// template reads a replacement: Python's re.sub, `\.` stays as it is and `\q` is an error.
func (r *Regexp) template(template string) ([]templatePart, error) {
	var parts []templatePart
	var text strings.Builder
	s := []rune(template)
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			text.WriteRune(s[i])
			i++
			continue
		}
		group, literal, size, err := r.templateEscape(s[i+1:])
		if err != nil {
			return nil, err
		}
		text.WriteString(literal)
		if i += 1 + size; group >= 0 {
			parts = append(parts, templatePart{text.String(), group})
			text.Reset()
		}
	}
	return append(parts, templatePart{text.String(), -1}), nil
}

// templateEscape reads what follows a backslash: a group (or -1), a text, and how many runes that
// took.
func (r *Regexp) templateEscape(s []rune) (group int, literal string, size int, err error) {
	if len(s) == 0 {
		return -1, "", 0, errors.New("bad escape (end of pattern)")
	}
	c := s[0]
	switch {
	case c == 'g':
		return r.templateGroup(s)
	case isOctal(s, 0) && (c == '0' || isOctal(s, 1) && isOctal(s, 2)):
		n, size := octal(s)
		return -1, string(n), size, nil
	case isDecimal(s, 0):
		n, size := int(c-'0'), 1
		if isDecimal(s, 1) {
			n, size = n*10+int(s[1]-'0'), 2
		}
		if n >= r.groups {
			return 0, "", 0, fmt.Errorf("invalid group reference %d", n)
		}
		return n, "", size, nil
	}
	if plain, ok := controlEscape(c); ok {
		return -1, string(plain), 1, nil
	}
	if isLetter(c) {
		return 0, "", 0, fmt.Errorf("bad escape \\%c", c)
	}
	return -1, `\` + string(c), 1, nil
}

func (r *Regexp) templateGroup(s []rune) (group int, literal string, size int, err error) {
	end := 2
	for end < len(s) && s[end] != '>' {
		end++
	}
	if len(s) < 2 || s[1] != '<' || end >= len(s) || end == 2 {
		return 0, "", 0, errors.New("missing group name")
	}
	group, err = groupNumber(string(s[2:end]), r.names, r.groups)
	return group, "", end + 1, err
}
