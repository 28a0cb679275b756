package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Regexp is a regular expression as Python's re reads it, which is what aliasSub, grep and tag conditions are written
// in: it knows look-around, references to groups and possessive repeats, and `(.*)` matches twice in a replacement,
// once empty at the end. It backtracks, so a match that takes more than maxSteps is given up with ErrTooExpensive.
// A Regexp is safe for concurrent use.
type Regexp struct {
	root   node
	groups int
	names  map[string]int
}

// ErrTooExpensive says that a pattern was tried in too many ways on one text.
var ErrTooExpensive = errors.New("regular expression takes too long")

// maxSteps bounds the work for one text, about 50 ms.
const maxSteps = 2_000_000

// CompileRegexp reads a pattern of Python 3.11's re.
func CompileRegexp(pattern string) (*Regexp, error) {
	p := &regexpParser{text: []rune(pattern), names: map[string]int{}, groups: 1}
	root, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("regular expression %.80q: %w", pattern, err)
	}
	return &Regexp{root: root, groups: p.groups, names: p.names}, nil
}

// Search says whether the pattern matches anywhere in text.
func (r *Regexp) Search(text string) (bool, error) {
	m := r.machine(text)
	_, ok := m.search(0, false)
	return ok, m.err
}

// Match says whether the pattern matches at the start of text.
func (r *Regexp) Match(text string) (bool, error) {
	m := r.machine(text)
	_, ok := m.at(0, false)
	return ok, m.err
}

// Sub replaces each match in text by template, in which `\1`, `\g<1>` and `\g<name>` stand for groups.
func (r *Regexp) Sub(template, text string) (string, error) {
	parts, err := r.template(template)
	if err != nil {
		return "", fmt.Errorf("replacement %.80q: %w", template, err)
	}
	m := r.machine(text)
	var b strings.Builder
	at, copied, advance := 0, 0, false
	for at <= len(text) {
		end, ok := m.search(at, advance)
		if !ok {
			break
		}
		b.WriteString(text[copied:m.caps[0]])
		m.expand(&b, parts)
		// After an empty match the next one must not be empty at the same place; after another it may be.
		at, copied, advance = end, end, end == m.caps[0]
	}
	b.WriteString(text[copied:])
	return b.String(), m.err
}

// machine is one text being matched. caps holds start and end of each group, -1 while it has not matched.
type machine struct {
	re    *Regexp
	text  string
	caps  []int
	steps int
	err   error
}

func (r *Regexp) machine(text string) *machine {
	return &machine{re: r, text: text, caps: make([]int, 2*r.groups)}
}

// search finds the leftmost match from at on and returns its end. With advance it must not be empty at at itself.
func (m *machine) search(at int, advance bool) (int, bool) {
	for start := at; start <= len(m.text); {
		if end, ok := m.at(start, advance && start == at); ok || m.err != nil {
			return end, ok
		}
		_, size := utf8.DecodeRuneInString(m.text[start:])
		start += max(size, 1)
	}
	return 0, false
}

// at matches at start exactly.
func (m *machine) at(start int, advance bool) (int, bool) {
	for i := range m.caps {
		m.caps[i] = -1
	}
	end := -1
	ok := m.re.root.match(m, start, func(at int) bool {
		if advance && at == start {
			return false
		}
		end = at
		return true
	})
	if ok = ok && m.err == nil; ok {
		m.caps[0], m.caps[1] = start, end
	}
	return end, ok
}

// step counts the work; false means stop.
func (m *machine) step() bool {
	if m.steps++; m.steps > maxSteps {
		m.err = ErrTooExpensive
	}
	return m.err == nil
}

// expand writes a replacement; a group that did not match is empty.
func (m *machine) expand(b *strings.Builder, parts []templatePart) {
	for _, p := range parts {
		b.WriteString(p.text)
		if p.group >= 0 && m.caps[2*p.group] >= 0 {
			b.WriteString(m.text[m.caps[2*p.group]:m.caps[2*p.group+1]])
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

// templateEscape reads what follows a backslash: a group (or -1), a text, and how many runes that took.
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
