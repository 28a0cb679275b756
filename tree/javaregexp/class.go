package javaregexp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A charSet is a set of characters as ranges, first and last, in any order.
type charSet [][2]rune

// complement returns every character that is not in the set.
func (s charSet) complement() charSet {
	sorted := slices.SortedFunc(slices.Values(s), func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var rest charSet
	next := rune(0)
	for _, r := range sorted {
		if r[0] > next {
			rest = append(rest, [2]rune{next, r[0] - 1})
		}
		next = max(next, r[1]+1)
	}
	if next <= unicode.MaxRune {
		rest = append(rest, [2]rune{next, unicode.MaxRune})
	}
	return rest
}

// fold adds the other case of the letters of ASCII that are in a range, as Java's (?i) does.
func (s charSet) fold() charSet {
	for _, r := range s {
		for _, letters := range [...][2]rune{{'a', 'z'}, {'A', 'Z'}} {
			if first, last := max(r[0], letters[0]), min(r[1], letters[1]); first <= last {
				s = append(s, [2]rune{first ^ ' ', last ^ ' '})
			}
		}
	}
	return s
}

// writeTo writes the set as Go has it.
func (s charSet) writeTo(out *strings.Builder) {
	if len(s) == 0 {
		out.WriteString(`[^\x{0}-\x{10FFFF}]`)
		return
	}
	out.WriteByte('[')
	for _, r := range s {
		fmt.Fprintf(out, `\x{%X}-\x{%X}`, r[0], r[1])
	}
	out.WriteByte(']')
}

// class reads from an opening bracket to its closing one, which is a character when it comes first.
func (p *translation) class() (charSet, error) {
	begin := p.at
	p.at++
	negated := p.peek(1) == "^"
	if negated {
		p.at++
	}
	var set charSet
	for empty := true; empty || p.peek(1) != "]"; empty = false {
		if p.at >= len(p.src) {
			p.at = begin
			return nil, p.refuse("character class without a closing bracket")
		}
		item, err := p.classItem()
		if err != nil {
			return nil, err
		}
		set = append(set, item...)
	}
	p.at++
	if negated {
		set = set.complement()
	}
	return set, nil
}

// classItem reads a character, a range or an escape for several characters.
func (p *translation) classItem() (charSet, error) {
	switch {
	case p.peek(1) == "[":
		return nil, p.refuse("a class within a class is not supported")
	case p.peek(2) == "&&":
		return nil, p.refuse("intersections of classes are not supported")
	}
	first, set, err := p.classChar()
	if err != nil {
		return nil, err
	}
	dash := p.peek(2)
	ranged := len(dash) > 1 && dash[0] == '-' && dash[1] != ']' && dash[1] != '['
	if set != nil {
		return set, nil
	}
	last := first
	if ranged {
		p.at++
		if last, set, err = p.classChar(); err != nil {
			return nil, err
		}
		if set != nil || last < first {
			return nil, p.refuse("illegal character range")
		}
	}
	item := charSet{{first, last}}
	if p.flags.fold {
		item = item.fold()
	}
	return item, nil
}

// classChar reads one character of a class, or an escape for a set of them.
func (p *translation) classChar() (rune, charSet, error) {
	c := p.src[p.at]
	if c == '\\' {
		return p.character()
	}
	p.at++
	return c, nil, nil
}

// escape reads a backslash and what belongs to it, outside of classes.
func (p *translation) escape() error {
	switch next := strings.TrimPrefix(p.peek(2), `\`); next {
	case "A", "z", "B":
		p.out.WriteString(`\` + next)
	case "Z":
		p.out.WriteByte('$')
	case "b":
		if p.peek(3) == `\b{` {
			return p.refuse(`\b{g} is not supported`)
		}
		p.out.WriteString(`\b`)
	default:
		c, set, err := p.character()
		switch {
		case err != nil:
			return err
		case set != nil:
			set.writeTo(&p.out)
		default:
			p.literal(c)
		}
		return nil
	}
	p.at += 2
	return nil
}

// character reads a backslash and what belongs to it where it stands for a character or for a set
// of them.
func (p *translation) character() (rune, charSet, error) {
	if p.at+1 >= len(p.src) {
		return 0, nil, p.refuse("backslash at the end")
	}
	c := p.src[p.at+1]
	if at := strings.IndexRune(`aefnrt`, c); at >= 0 {
		p.at += 2
		return rune("\a\x1B\f\n\r\t"[at]), nil, nil
	}
	if set := escapedSet(c); set != nil {
		p.at += 2
		return 0, set, nil
	}
	switch {
	case c == '0':
		return p.octal()
	case c == 'x' || c == 'u':
		return p.hexadecimal(c)
	case c == 'c' && p.at+2 < len(p.src):
		p.at += 3
		return p.src[p.at-1] ^ 64, nil, nil
	case c == 'p' || c == 'P':
		set, err := p.property(c == 'P')
		return 0, set, err
	case '1' <= c && c <= '9' || c == 'k':
		return 0, nil, p.refuse("back-references are not supported")
	case isASCIILetter(c):
		return 0, nil, p.refuse(`the escape \%c is not supported`, c)
	}
	p.at += 2
	return c, nil, nil
}

// escapedSet returns what \d and its like stand for: ASCII alone, except for blanks and line
// terminators.
func escapedSet(c rune) charSet {
	switch c {
	case 'd':
		return charSet{{'0', '9'}}
	case 'w':
		return charSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	case 's':
		return charSet{{'\t', '\r'}, {' ', ' '}}
	case 'h':
		return charSet{
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
		return charSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}
	case 'D', 'W', 'S', 'H', 'V':
		return escapedSet(unicode.ToLower(c)).complement()
	}
	return nil
}

// octal reads \0 and one to three octal digits, at most \0377.
func (p *translation) octal() (rune, charSet, error) {
	begin, n := p.at+2, rune(0)
	at := begin
	for at < len(p.src) && at < begin+3 && '0' <= p.src[at] && p.src[at] <= '7' && n*8+p.src[at]-'0' <= 0o377 {
		n = n*8 + p.src[at] - '0'
		at++
	}
	if at == begin {
		return 0, nil, p.refuse("illegal octal escape")
	}
	p.at = at
	return n, nil, nil
}

// hexadecimal reads \xhh, \x{h...h} and \uhhhh.
func (p *translation) hexadecimal(kind rune) (rune, charSet, error) {
	begin, end := p.at+2, p.at+4
	if kind == 'u' {
		end = p.at + 6
	}
	next := end
	if kind == 'x' && begin < len(p.src) && p.src[begin] == '{' {
		begin++
		if end = begin + slices.Index(p.src[begin:], '}'); end < begin {
			return 0, nil, p.refuse("illegal hexadecimal escape")
		}
		next = end + 1
	}
	if end > len(p.src) {
		return 0, nil, p.refuse("illegal hexadecimal escape")
	}
	n, err := strconv.ParseUint(string(p.src[begin:end]), 16, 32)
	if err != nil || n > unicode.MaxRune || 0xD800 <= n && n < 0xE000 {
		return 0, nil, p.refuse("illegal hexadecimal escape")
	}
	p.at = next
	return rune(n), nil, nil
}

// property reads \pX and \p{Name}: the POSIX classes of ASCII and the general categories of
// Unicode.
func (p *translation) property(negated bool) (charSet, error) {
	name, next := strings.TrimPrefix(strings.ToLower(p.peek(3)), `\p`), p.at+3
	if name != "{" {
		name = string(p.src[p.at+2 : min(next, len(p.src))])
	} else if end := slices.Index(p.src[next:], '}'); end >= 0 {
		name = string(p.src[next : next+end])
		next += end + 1
	}
	set := namedSet(name)
	if set == nil {
		return nil, p.refuse(`the property \p{%.30s} is not supported`, name)
	}
	if cased := []string{"Lower", "Upper", "Ll", "Lu", "Lt", "IsLl", "IsLu", "IsLt"}; p.flags.fold && slices.Contains(cased, name) {
		return nil, p.refuse(`the property \p{%s} without regard to case is not supported`, name)
	}
	p.at = next
	if negated {
		set = set.complement()
	}
	return set, nil
}

func namedSet(name string) charSet {
	switch name {
	case "Lower":
		return charSet{{'a', 'z'}}
	case "Upper":
		return charSet{{'A', 'Z'}}
	case "ASCII":
		return charSet{{0, 0x7F}}
	case "Alpha":
		return charSet{{'a', 'z'}, {'A', 'Z'}}
	case "Digit":
		return charSet{{'0', '9'}}
	case "Alnum":
		return charSet{{'0', '9'}, {'a', 'z'}, {'A', 'Z'}}
	case "Punct":
		return charSet{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}
	case "Graph":
		return charSet{{'!', '~'}}
	case "Print":
		return charSet{{' ', '~'}}
	case "Blank":
		return charSet{{' ', ' '}, {'\t', '\t'}}
	case "Cntrl":
		return charSet{{0, 0x1F}, {0x7F, 0x7F}}
	case "XDigit":
		return charSet{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}
	case "Space":
		return charSet{{'\t', '\r'}, {' ', ' '}}
	}
	return categorySet(strings.TrimPrefix(name, "Is"))
}

// categorySet returns a general category: one or two letters.
func categorySet(name string) charSet {
	table := unicode.Categories[name]
	if table == nil || len(name) > 2 || name == "LC" {
		return nil
	}
	var set charSet
	for _, r := range table.R16 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return set
}

func appendStride(set charSet, lo, hi, stride rune) charSet {
	if stride == 1 {
		return append(set, [2]rune{lo, hi})
	}
	for c := lo; c <= hi; c += stride {
		set = append(set, [2]rune{c, c})
	}
	return set
}
