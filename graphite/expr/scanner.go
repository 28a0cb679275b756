package expr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner holds a target and the tokens' rules. A rule takes a position and returns the position
// after what it matched; blanks before a token are skipped, as pyparsing does.
type scanner struct {
	text    string
	utf8    bool
	memo    map[int]parsed
	depth   int
	tooDeep bool // Calls are nested too deep.
	tooLong bool // A pipe has too many calls.
}

// expandTabs replaces tabs by blanks up to the next multiple of 8 columns: pyparsing does so before
// it begins, which shows in strings and in the names that seriesByTag leaves.
func expandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	column := 0
	for _, r := range text {
		switch r {
		case '\t':
			n := 8 - column%8
			b.WriteString("        "[:n])
			column += n
			continue
		case '\n', '\r':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

func (s *scanner) space(at int) int {
	for at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[at]) >= 0 {
		at++
	}
	return at
}

func (s *scanner) literal(at int, c byte) (int, bool) {
	if at = s.space(at); at < len(s.text) && s.text[at] == c {
		return at + 1, true
	}
	return at, false
}

func (s *scanner) word(at int, word string) (int, bool) {
	at = s.space(at)
	if strings.HasPrefix(s.text[at:], word) {
		return at + len(word), true
	}
	return at, false
}

// name is `[A-Za-z_][A-Za-z0-9_]*` at at itself.
func (s *scanner) name(at int) (string, int, bool) {
	end := at
	for end < len(s.text) && (isNameStart(s.text[end]) || end > at && isDigit(s.text[end])) {
		end++
	}
	return s.text[at:end], end, end > at
}

func isNameStart(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }

// caseless returns a keyword in any case that is not part of a longer word; upper is its upper
// case.
func (s *scanner) caseless(at int, upper string) (int, bool) {
	at = s.space(at)
	end := at + len(upper)
	if end > len(s.text) || !strings.EqualFold(s.text[at:end], upper) {
		return at, false
	}
	if at > 0 && isWord(s.text[at-1]) || end < len(s.text) && isWord(s.text[end]) {
		return at, false
	}
	return end, true
}

func isWord(c byte) bool { return isNameStart(c) || isDigit(c) || c == '$' }

// number returns one only where an argument ends: before a comma, a bracket, the end of the line.
// `1min.load` is a path.
func (s *scanner) number(at int) (Node, int, bool) {
	start := s.space(at)
	whole, ok := s.digits(start)
	if !ok {
		return nil, at, false
	}
	fraction := whole
	if whole+1 < len(s.text) && s.text[whole] == '.' && isDigit(s.text[whole+1]) {
		fraction = s.unsigned(whole + 1)
	}
	for _, end := range [...]int{s.exponent(fraction), s.exponent(whole), fraction, whole} {
		if end > 0 && s.endsArgument(end) {
			return numeral(s.text[start:end]), end, true
		}
	}
	return nil, at, false
}

// digits is `-?[0-9]+`.
func (s *scanner) digits(at int) (int, bool) {
	if at < len(s.text) && s.text[at] == '-' {
		at++
	}
	end := s.unsigned(at)
	return end, end > at
}

func (s *scanner) unsigned(at int) int {
	for at < len(s.text) && isDigit(s.text[at]) {
		at++
	}
	return at
}

// exponent returns the end of `e-?[0-9]+` at at, or 0. A plus sign is not allowed.
func (s *scanner) exponent(at int) int {
	if at >= len(s.text) || s.text[at]|0x20 != 'e' {
		return 0
	}
	end, ok := s.digits(at + 1)
	if !ok {
		return 0
	}
	return end
}

func (s *scanner) endsArgument(at int) bool {
	for at < len(s.text) && strings.IndexByte(" \t\r", s.text[at]) >= 0 {
		at++
	}
	return at == len(s.text) || strings.IndexByte("\n,)", s.text[at]) >= 0
}

func numeral(text string) Node {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int(i)
	}
	f, _ := strconv.ParseFloat(text, 64) // Out of range is ±Inf or 0, as in Python.
	return Float(f)
}

// quoted returns a string in single or double quotes. A doubled quote and a backslash with what
// follows belong to it and stay as written (`'it\'s'` is it\'s); a line break ends it unfinished.
// `\x` needs a hexadecimal digit.
func (s *scanner) quoted(at int) (Node, int, bool) {
	start := s.space(at)
	if start == len(s.text) || s.text[start] != '"' && s.text[start] != '\'' {
		return nil, at, false
	}
	quote := s.text[start]
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == quote && i+1 < len(s.text) && s.text[i+1] == quote:
			i++
		case c == quote:
			return String(s.text[start+1 : i]), i + 1, true
		case c == '\n' || c == '\r':
			return nil, at, false
		case c == '\\':
			if i++; i == len(s.text) || s.text[i] == 'x' && !s.hexAt(i+1) {
				return nil, at, false
			}
		}
	}
	return nil, at, false
}

func (s *scanner) hexAt(at int) bool {
	return at < len(s.text) && (isDigit(s.text[at]) || 'a' <= s.text[at]|0x20 && s.text[at]|0x20 <= 'f')
}

// symbols have a meaning in a path and are no part of a name unless escaped.
const symbols = `(){},.'"\|`

// path is elements joined by dots, without blanks inside.
func (s *scanner) path(at int) (Node, int, bool) {
	var b strings.Builder
	end, ok := s.element(s.space(at), &b)
	if !ok {
		return nil, at, false
	}
	for end < len(s.text) && s.text[end] == '.' {
		var e strings.Builder
		next, ok := s.element(end+1, &e)
		if !ok {
			break
		}
		b.WriteString("." + e.String())
		end = next
	}
	return &Path{Text: b.String()}, end, true
}

// element returns one or more runs of name characters and lists in braces.
func (s *scanner) element(at int, b *strings.Builder) (int, bool) {
	start := at
	for {
		next := s.plain(at, b)
		if next == at {
			next = s.braces(at, b)
		}
		if next == at {
			return at, at > start
		}
		at = next
	}
}

// plain is name characters and escaped symbols; the backslash of an escape is dropped.
func (s *scanner) plain(at int, b *strings.Builder) int {
	for at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		switch {
		case r == '\\' && at+1 < len(s.text) && strings.IndexByte(symbols+"=", s.text[at+1]) >= 0:
			b.WriteByte(s.text[at+1])
			size = 2
		case s.isNameRune(r):
			b.WriteString(s.text[at : at+size])
		default:
			return at
		}
		at += size
	}
	return at
}

func (s *scanner) isNameRune(r rune) bool {
	if r > '~' {
		return s.utf8 && r != utf8.RuneError && !unicode.IsSpace(r) && !unicode.IsControl(r)
	}
	return r > ' ' && !strings.ContainsRune(symbols, r)
}

// braces is `{a,b}`: one or more plain parts, none empty, none nested. Without a match nothing is
// written.
func (s *scanner) braces(at int, b *strings.Builder) int {
	if at == len(s.text) || s.text[at] != '{' {
		return at
	}
	var list strings.Builder
	for i := at; i < len(s.text); i++ {
		list.WriteByte(s.text[i]) // The brace or the comma.
		end := s.plain(i+1, &list)
		if end == i+1 || end == len(s.text) {
			return at
		}
		if i = end - 1; s.text[end] == '}' {
			b.WriteString(list.String() + "}")
			return end + 1
		}
		if s.text[end] != ',' {
			return at
		}
	}
	return at
}
