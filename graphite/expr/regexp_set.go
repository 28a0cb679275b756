package expr

import (
	"errors"
	"fmt"
	"strconv"
	"unicode"
)

// set reads `[…]`; its opening bracket is consumed. A closing bracket that comes first is a member.
func (p *regexpParser) set() (node, error) {
	negative := p.accept("^")
	var members []func(rune) bool
	for first := true; first || p.peek() != ']'; first = false {
		if p.at >= len(p.text) {
			return nil, errors.New("unterminated character set")
		}
		m, err := p.setMember()
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	p.at++
	fold := p.flags.fold
	return charNode{func(r rune) bool { return inSet(members, r, fold) != negative }}, nil
}

func inSet(members []func(rune) bool, r rune, fold bool) bool {
	for _, m := range members {
		if m(r) || fold && (m(unicode.ToLower(r)) || m(unicode.ToUpper(r))) {
			return true
		}
	}
	return false
}

// setMember reads a character, a class such as \d, or a range.
func (p *regexpParser) setMember() (func(rune) bool, error) {
	low, class, err := p.setCharacter()
	if err != nil {
		return nil, err
	}
	ranged := p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']'
	if class != nil {
		if ranged {
			return nil, errors.New("bad character range")
		}
		return class, nil
	}
	if !ranged {
		return func(r rune) bool { return r == low }, nil
	}
	p.at++
	high, class, err := p.setCharacter()
	if err != nil {
		return nil, err
	}
	if class != nil || high < low {
		return nil, fmt.Errorf("bad character range %c-%c", low, high)
	}
	return func(r rune) bool { return low <= r && r <= high }, nil
}

func (p *regexpParser) setCharacter() (rune, func(rune) bool, error) {
	c := p.text[p.at]
	p.at++
	if c != '\\' {
		return c, nil, nil
	}
	if p.at >= len(p.text) {
		return 0, nil, errors.New("bad escape (end of pattern)")
	}
	c = p.text[p.at]
	if class := p.class(c); class != nil {
		p.at++
		return 0, class, nil
	}
	if isOctal(p.text, p.at) {
		r, size := octal(p.text[p.at:])
		p.at += size
		return r, nil, nil
	}
	r, err := p.plainEscape()
	return r, nil, err
}

// class returns the predicate of \d \w \s and their opposites. Without the flag a they know all of Unicode.
func (p *regexpParser) class(c rune) func(rune) bool {
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
func (p *regexpParser) escape() (node, error) {
	if p.at >= len(p.text) {
		return nil, errors.New("bad escape (end of pattern)")
	}
	c := p.text[p.at]
	if class := p.class(c); class != nil {
		p.at++
		return charNode{class}, nil
	}
	places := map[rune]place{'A': textStart, 'Z': textEnd, 'b': wordBoundary, 'B': insideWord}
	if n, ok := places[c]; ok {
		p.at++
		return n, nil
	}
	if isDecimal(p.text, p.at) {
		return p.digitEscape()
	}
	r, err := p.plainEscape()
	return p.literal(r), err
}

// digitEscape is an octal character (\0, \012, \101) or a reference to a group.
func (p *regexpParser) digitEscape() (node, error) {
	s := p.text[p.at:]
	if s[0] == '0' || isOctal(s, 0) && isOctal(s, 1) && isOctal(s, 2) {
		r, size := octal(s)
		p.at += size
		return p.literal(r), nil
	}
	size := 1
	if isDecimal(s, 1) {
		size = 2
	}
	p.at += size
	return p.reference(string(s[:size]))
}

// plainEscape is a character written with a backslash: a control, a code point, or itself unless it is a letter.
func (p *regexpParser) plainEscape() (rune, error) {
	c := p.text[p.at]
	p.at++
	if r, ok := controlEscape(c); ok {
		return r, nil
	}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && p.at+digits <= len(p.text) {
		if n, err := strconv.ParseUint(string(p.text[p.at:p.at+digits]), 16, 32); err == nil {
			p.at += digits
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

func isLetter(c rune) bool            { return c < 0x80 && c != '_' && isNameStart(byte(c)) }
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
