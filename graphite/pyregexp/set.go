package pyregexp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// runeSet is the content of square brackets. Looking up a character costs the logarithm of the
// set's length.
type runeSet struct {
	ranges   pattern.Set // sorted once the set is complete
	classes  []func(rune) bool
	seen     map[rune]bool // The letters of the classes.
	negative bool
	fold     bool
}

func (s *runeSet) has(r rune) bool {
	in := s.holds(r) || s.fold && (s.holds(unicode.ToLower(r)) || s.holds(unicode.ToUpper(r)))
	return in != s.negative
}

func (s *runeSet) holds(r rune) bool {
	return s.ranges.Has(r) || slices.ContainsFunc(s.classes, func(is func(rune) bool) bool { return is(r) })
}

// set reads `[…]`; its opening bracket is consumed. A closing bracket that comes first is a member.
func (p *parser) set() (backtrack.Node, error) {
	s := &runeSet{negative: p.Takes("^"), fold: p.flags.fold, seen: map[rune]bool{}}
	for first := true; first || p.Next() != ']'; first = false {
		if p.At >= len(p.Src) {
			return nil, errors.New("unterminated character set")
		}
		if err := p.setMember(s); err != nil {
			return nil, err
		}
	}
	p.At++
	s.ranges = s.ranges.Sorted()
	return backtrack.Char{Is: s.has}, nil
}

// setMember reads a character, a class such as \d, or a range.
func (p *parser) setMember(s *runeSet) error {
	begin := p.At
	low, class, err := p.setCharacter()
	if err != nil {
		return err
	}
	ranged := p.Next() == '-' && p.At+1 < len(p.Src) && p.Src[p.At+1] != ']'
	if class != nil {
		if ranged {
			return errors.New("bad character range")
		}
		if letter := p.Src[begin+1]; !s.seen[letter] {
			s.seen[letter], s.classes = true, append(s.classes, class)
		}
		return nil
	}
	if !ranged {
		s.ranges = append(s.ranges, [2]rune{low, low})
		return nil
	}
	p.At++
	high, class, err := p.setCharacter()
	if err != nil {
		return err
	}
	if class != nil || high < low {
		return fmt.Errorf("bad character range %c-%c", low, high)
	}
	s.ranges = append(s.ranges, [2]rune{low, high})
	return nil
}

func (p *parser) setCharacter() (rune, func(rune) bool, error) {
	c := p.Src[p.At]
	p.At++
	if c != '\\' {
		return c, nil, nil
	}
	if p.At >= len(p.Src) {
		return 0, nil, errors.New("bad escape (end of pattern)")
	}
	c = p.Src[p.At]
	if class := p.class(c); class != nil {
		p.At++
		return 0, class, nil
	}
	if isOctal(p.Src, p.At) {
		r, size := octal(p.Src[p.At:])
		p.At += size
		return r, nil, nil
	}
	r, err := p.plainEscape()
	return r, nil, err
}

// class returns the predicate of \d \w \s and their opposites. Without the flag a they know all of
// Unicode.
func (p *parser) class(c rune) func(rune) bool {
	ascii := p.flags.ascii
	in := func(is func(rune) bool, want bool) func(rune) bool {
		return func(r rune) bool { return (is(r) && (!ascii || r < 0x80)) == want }
	}
	switch c {
	case 'd', 'D':
		return in(unicode.IsDigit, c == 'd')
	case 'w', 'W':
		return in(isWordRune, c == 'w')
	case 's', 'S':
		return in(isPythonSpace, c == 's')
	}
	return nil
}

func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// escape reads what follows a backslash outside a set.
func (p *parser) escape() (backtrack.Node, error) {
	if p.At >= len(p.Src) {
		return nil, errors.New("bad escape (end of pattern)")
	}
	c := p.Src[p.At]
	if class := p.class(c); class != nil {
		p.At++
		return backtrack.Char{Is: class}, nil
	}
	places := map[rune]place{'A': textStart, 'Z': textEnd, 'b': wordBoundary, 'B': insideWord}
	if n, ok := places[c]; ok {
		p.At++
		return placeNode(n), nil
	}
	if isDecimal(p.Src, p.At) {
		return p.digitEscape()
	}
	r, err := p.plainEscape()
	return p.literal(r), err
}

// digitEscape is an octal character (\0, \012, \101) or a reference to a group.
func (p *parser) digitEscape() (backtrack.Node, error) {
	s := p.Src[p.At:]
	if s[0] == '0' || isOctal(s, 0) && isOctal(s, 1) && isOctal(s, 2) {
		r, size := octal(s)
		p.At += size
		return p.literal(r), nil
	}
	size := 1
	if isDecimal(s, 1) {
		size = 2
	}
	p.At += size
	return p.reference(string(s[:size]))
}

// plainEscape is a character written with a backslash: a control, a code point, or itself unless it
// is a letter.
func (p *parser) plainEscape() (rune, error) {
	c := p.Src[p.At]
	p.At++
	if r, ok := controlEscape(c); ok {
		return r, nil
	}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && p.At+digits <= len(p.Src) {
		if n, err := strconv.ParseUint(string(p.Src[p.At:p.At+digits]), 16, 32); err == nil {
			p.At += digits
			return rune(n), nil
		}
	}
	if isLetter(c) || isDecimal([]rune{c}, 0) {
		return 0, fmt.Errorf("bad escape \\%c", c)
	}
	return c, nil
}

func controlEscape(c rune) (rune, bool) {
	r, ok := map[rune]rune{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\'}[c]
	return r, ok
}

func isLetter(c rune) bool            { return c < 0x80 && 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDecimal(s []rune, at int) bool { return at < len(s) && '0' <= s[at] && s[at] <= '9' }
func isOctal(s []rune, at int) bool   { return at < len(s) && '0' <= s[at] && s[at] <= '7' }

// octal reads up to three octal digits.
func octal(s []rune) (rune, int) {
	var r rune
	size := 0
	for size < 3 && isOctal(s, size) {
		r = r*8 + s[size] - '0'
		size++
	}
	return r, size
}
