// Package pattern has what parsers of regular expressions of any syntax need: the text while it is read,
// and sets of characters. It knows no syntax.
package pattern

import "slices"

// A Text is a pattern while it is read.
type Text struct {
	Src []rune
	At  int // the next character
}

// Next returns the next character without taking it, -1 at the end.
func (t *Text) Next() rune {
	if t.At < len(t.Src) {
		return t.Src[t.At]
	}
	return -1
}

// Peek returns the next characters without taking them, fewer at the end.
func (t *Text) Peek(n int) string { return string(t.Src[t.At:min(t.At+n, len(t.Src))]) }

// Takes takes a text of ASCII if it comes next.
func (t *Text) Takes(text string) bool {
	if t.Peek(len(text)) != text {
		return false
	}
	t.At += len(text)
	return true
}

// Until takes what comes before a character, and that character; false: it does not come.
func (t *Text) Until(end rune) (string, bool) {
	i := slices.Index(t.Src[t.At:], end)
	if i < 0 {
		return "", false
	}
	t.At += i + 1
	return string(t.Src[t.At-i-1 : t.At-1]), true
}
