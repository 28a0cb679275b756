package pyregexp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// place matches without taking anything.
type place byte

const (
	textStart place = iota
	textEnd
	lineStart
	lineEnd
	lastLineEnd // `$`: the end, or the line break that ends the text.
	wordBoundary
	insideWord
)

func placeNode(p place) backtrack.Node {
	return backtrack.Place{Holds: p.holds, Start: p == textStart}
}

// againInAnyCase takes what a group has matched, in any case.
func againInAnyCase(text string, at int, group string) (end int, ok bool) {
	end = at + len(group)
	return end, end <= len(text) && strings.EqualFold(text[at:end], group)
}

func (n place) holds(text string, at int) bool {
	switch n {
	case textStart:
		return at == 0
	case textEnd:
		return at == len(text)
	case lineStart:
		return at == 0 || text[at-1] == '\n'
	case lineEnd:
		return at == len(text) || text[at] == '\n'
	case lastLineEnd:
		return at == len(text) || at == len(text)-1 && text[at] == '\n'
	case wordBoundary:
		return atBoundary(text, at)
	default:
		return len(text) > 0 && !atBoundary(text, at)
	}
}

func atBoundary(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return (at > 0 && isWordRune(before)) != (at < len(text) && isWordRune(after))
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}
