package javaregexp

import (
	"slices"
	"unicode"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// A casedRune is a character that has another case, with what Java compares.
type casedRune struct{ char, upper, lower rune }

// folded adds the other cases of the characters of a range where the flags say so.
func (p *charReader) folded(s pattern.Set) pattern.Set {
	switch {
	case !p.flags.fold:
		return s
	case !p.flags.unicode:
		return foldASCII(s)
	}
	return p.unicodeFold(s)
}

// foldASCII adds the other case of the letters of ASCII that are in a range, as Java's (?i) does.
func foldASCII(s pattern.Set) pattern.Set {
	for _, r := range s {
		for _, letters := range [...][2]rune{{'a', 'z'}, {'A', 'Z'}} {
			if first, last := max(r[0], letters[0]), min(r[1], letters[1]); first <= last {
				s = append(s, [2]rune{first ^ ' ', last ^ ' '})
			}
		}
	}
	return s
}

// unicodeFold adds the characters that are in one range by their upper case, or by the lower case
// of that, as Java's (?iu) does.
func (p *charReader) unicodeFold(s pattern.Set) pattern.Set {
	if p.cased == nil {
		p.cased = casedRunes()
	}
	in := func(c rune) bool { return s[0][0] <= c && c <= s[0][1] }
	if s[0][0] == s[0][1] { // one character: its lower case is compared
		c := s[0][0]
		lower := unicode.ToLower(unicode.ToUpper(c))
		in = func(other rune) bool { return other == lower }
	}
	out := slices.Clone(s)
	for _, c := range p.cased {
		if in(c.upper) || in(c.lower) {
			out = append(out, [2]rune{c.char, c.char})
		}
	}
	return out
}

// casedRunes returns all characters that have another case.
func casedRunes() (all []casedRune) {
	for _, r := range unicode.CaseRanges {
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			upper := unicode.ToUpper(c)
			all = append(all, casedRune{c, upper, unicode.ToLower(upper)})
		}
	}
	return all
}

// sameFolded reports whether Java's (?i) takes two characters for the same.
func sameFolded(a, b rune) bool {
	return a == b || isASCIILetter(a) && a^' ' == b
}

// sameUnicode reports whether Java's (?iu) does.
func sameUnicode(a, b rune) bool {
	if a == b {
		return true
	}
	a, b = unicode.ToUpper(a), unicode.ToUpper(b)
	return a == b || unicode.ToLower(a) == unicode.ToLower(b)
}
