package javaregexp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// terminators are what ends a line.
func terminators() pattern.Set {
	return pattern.Set{{'\n', '\n'}, {'\r', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}
}

func isTerminator(c rune) bool {
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029
}

// endsInTerminator reports whether a line terminator ends a text.
func endsInTerminator(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return isTerminator(last)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// holds reports whether a place is what its kind says.
func (k placeKind) holds(text string, at int) bool {
	switch k {
	case textStart, matchStart:
		return at == 0
	case textEnd:
		return at == len(text)
	case lastLineEnd:
		return atLineEnd(text, at) && restOfLine(text[at:]) == ""
	case lastUnixLineEnd:
		return at == len(text) || text[at:] == "\n"
	case lineStart:
		return atLineStart(text, at)
	case unixLineStart:
		return at < len(text) && (at == 0 || text[at-1] == '\n')
	case lineEnd:
		return atLineEnd(text, at)
	case unixLineEnd:
		return at == len(text) || text[at] == '\n'
	case wordBoundary:
		return atBoundary(text, at, isWord)
	case insideWord:
		return !atBoundary(text, at, isWord)
	case unicodeBoundary:
		return atBoundary(text, at, isUnicodeWord)
	default:
		return !atBoundary(text, at, isUnicodeWord)
	}
}

// atLineEnd reports whether a line terminator or the end comes next. Between \r and \n is no end.
func atLineEnd(text string, at int) bool {
	if at == len(text) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(text[at:])
	return isTerminator(next) && (next != '\n' || at == 0 || text[at-1] != '\r')
}

// restOfLine returns what follows the line terminator that a text begins with.
func restOfLine(text string) string {
	if rest, ok := strings.CutPrefix(text, "\r\n"); ok {
		return rest
	}
	_, size := utf8.DecodeRuneInString(text)
	return text[size:]
}

// atLineStart reports whether a line begins. At the end of a text none does, even of an empty one.
func atLineStart(text string, at int) bool {
	if at == 0 || at == len(text) {
		return at < len(text)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	return isTerminator(before) && (before != '\r' || text[at] != '\n')
}

// atBoundary reports whether a word begins or ends. A mark belongs to the letter before it.
func atBoundary(text string, at int, isWord func(rune) bool) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, size := utf8.DecodeRuneInString(text[at:])
	left := at > 0 && (isWord(before) || unicode.Is(unicode.Mn, before) && hasBase(text[:at]))
	right := at < len(text) && (isWord(after) || unicode.Is(unicode.Mn, after) && hasBase(text[:at+size]))
	return left != right
}

// mostMarks bounds how far back a letter is looked for, in bytes.
const mostMarks = 256

// hasBase reports whether the marks that end a text follow a letter or a digit.
func hasBase(text string) bool {
	text = text[max(0, len(text)-mostMarks):]
	text = strings.TrimRightFunc(text, func(c rune) bool { return unicode.Is(unicode.Mn, c) })
	last, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && (unicode.IsLetter(last) || unicode.IsDigit(last))
}

func isWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func isUnicodeWord(c rune) bool {
	return isWord(c) || unicode.In(c, unicode.M, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
