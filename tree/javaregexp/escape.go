package javaregexp

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// escape reads a backslash and what belongs to it, outside of classes.
func (p *parser) escape() (expr, error) {
	c := rune(0)
	if p.At+1 < len(p.Src) {
		c = p.Src[p.At+1]
	}
	switch {
	case p.Peek(4) == `\b{g`:
		return nil, p.refuse(`\b{g} (boundaries of grapheme clusters) is not supported`)
	case c == 'R':
		p.At += 2
		return lineBreak{}, nil
	case c == 'k' || '1' <= c && c <= '9':
		return p.reference()
	}
	if kind, ok := p.place(c); ok {
		p.At += 2
		return placeExpr{kind}, nil
	}
	char, set, err := p.character()
	switch {
	case err != nil:
		return nil, err
	case set != nil:
		return p.char(set, nil)
	}
	return p.literal(char), nil
}

// place returns what an escape means that takes nothing.
func (p *parser) place(c rune) (placeKind, bool) {
	switch c {
	case 'A':
		return textStart, true
	case 'z':
		return textEnd, true
	case 'Z':
		return p.lastLine(), true
	case 'G':
		p.scans = true
		return matchStart, true
	case 'b':
		if p.flags.classes {
			return unicodeBoundary, true
		}
		return wordBoundary, true
	case 'B':
		if p.flags.classes {
			return insideUnicodeWord, true
		}
		return insideWord, true
	}
	return 0, false
}

// reference reads \1 or \k<name>. Digits belong to the number as long as there is such a group.
func (p *parser) reference() (expr, error) {
	p.At += 2
	r := reference{fold: p.flags.fold, unicode: p.flags.unicode}
	if c := p.Src[p.At-1]; c != 'k' {
		r.index = int(c - '0')
		for p.At < len(p.Src) && '0' <= p.Src[p.At] && p.Src[p.At] <= '9' {
			next := r.index*10 + int(p.Src[p.At]-'0')
			if next >= p.groups {
				break
			}
			r.index = next
			p.At++
		}
		return r, nil
	}
	if !p.Takes("<") {
		return nil, p.refuse(`\k without the name of a group`)
	}
	name, err := p.groupName()
	if err != nil {
		return nil, err
	}
	index, ok := p.names[name]
	if !ok {
		return nil, p.refuse("there is no group <%.30s> before it", name)
	}
	r.index = index
	return r, nil
}

// character reads a backslash and what belongs to it where it stands for a character or for a set
// of them.
func (p *charReader) character() (rune, pattern.Set, error) {
	if p.At+1 >= len(p.Src) {
		return 0, nil, p.refuse("backslash at the end")
	}
	c := p.Src[p.At+1]
	if at := strings.IndexRune(`aefnrt`, c); at >= 0 {
		p.At += 2
		return rune("\a\x1B\f\n\r\t"[at]), nil, nil
	}
	if set := p.escapedSet(c); set != nil {
		p.At += 2
		return 0, set, nil
	}
	switch {
	case c == '0':
		return p.octal()
	case c == 'x':
		return p.hexadecimal()
	case c == 'u':
		return p.utf16()
	case c == 'c' && p.At+2 < len(p.Src):
		p.At += 3
		return p.Src[p.At-1] ^ 64, nil, nil
	case c == 'p' || c == 'P':
		set, err := p.property(c == 'P')
		return 0, set, err
	case c == 'X':
		return 0, nil, p.refuse(`\X (grapheme clusters) is not supported`)
	case c == 'N':
		return 0, nil, p.refuse(`\N (characters by their names) is not supported`)
	case isASCIILetter(c) || '1' <= c && c <= '9':
		return 0, nil, p.refuse(`the escape \%c is not supported`, c)
	}
	p.At += 2
	return c, nil, nil
}

// escapedSet returns what \d and its like stand for.
func (p *charReader) escapedSet(c rune) pattern.Set {
	if p.flags.classes {
		if set := unicodeEscapedSet(c); set != nil {
			return set
		}
	}
	return asciiEscapedSet(c)
}

// asciiEscapedSet returns the sets of ASCII, except for blanks and line terminators.
func asciiEscapedSet(c rune) pattern.Set {
	switch c {
	case 'd':
		return pattern.Set{{'0', '9'}}
	case 'w':
		return pattern.Set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	case 's':
		return pattern.Set{{'\t', '\r'}, {' ', ' '}}
	case 'h':
		return pattern.Set{
			{'\t', '\t'},
			{' ', ' '},
			{0xA0, 0xA0},
			{0x1680, 0x1680},
			{0x180E, 0x180E},
			{0x2000, 0x200A},
			{0x202F, 0x202F},
			{0x205F, 0x205F},
			{0x3000, 0x3000},
		}
	case 'v':
		return pattern.Set{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}
	case 'D', 'W', 'S', 'H', 'V':
		return asciiEscapedSet(unicode.ToLower(c)).Complement()
	}
	return nil
}

// octal reads \0 and one to three octal digits, at most \0377.
func (p *charReader) octal() (rune, pattern.Set, error) {
	begin, n := p.At+2, rune(0)
	at := begin
	for at < len(p.Src) && at < begin+3 && '0' <= p.Src[at] && p.Src[at] <= '7' && n*8+p.Src[at]-'0' <= 0o377 {
		n = n*8 + p.Src[at] - '0'
		at++
	}
	if at == begin {
		return 0, nil, p.refuse("illegal octal escape")
	}
	p.At = at
	return n, nil, nil
}

// hexadecimal reads \xhh and \x{h...h}.
func (p *charReader) hexadecimal() (rune, pattern.Set, error) {
	begin := p.At + 2
	if begin >= len(p.Src) || p.Src[begin] != '{' {
		return p.hex(begin, begin+2, begin+2)
	}
	end := begin + slices.Index(p.Src[begin:], '}')
	return p.hex(begin+1, end, end+1)
}

// hex reads digits; next is where the pattern goes on.
func (p *charReader) hex(begin, end, next int) (rune, pattern.Set, error) {
	if end > len(p.Src) || begin >= end {
		return 0, nil, p.refuse("illegal hexadecimal escape")
	}
	n, err := strconv.ParseUint(string(p.Src[begin:end]), 16, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, nil, p.refuse("illegal hexadecimal escape")
	}
	if utf16.IsSurrogate(rune(n)) {
		return 0, nil, p.refuse("half of a surrogate pair is not supported: texts are UTF-8")
	}
	p.At = next
	return rune(n), nil, nil
}

// utf16 reads \uhhhh, or two of them for a character beyond them.
func (p *charReader) utf16() (rune, pattern.Set, error) {
	half := func(at int) rune {
		if at+6 > len(p.Src) || string(p.Src[at:at+2]) != `\u` {
			return 0
		}
		n, _ := strconv.ParseUint(string(p.Src[at+2:at+6]), 16, 32)
		return rune(n)
	}
	if c := utf16.DecodeRune(half(p.At), half(p.At+6)); c != unicode.ReplacementChar {
		p.At += 12
		return c, nil, nil
	}
	return p.hex(p.At+2, p.At+6, p.At+6)
}
