package javaregexp

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A charSet is a set of characters as ranges, first and last, in any order.
type charSet [][2]rune

// sorted returns the ranges in order, without overlap.
func (s charSet) sorted() charSet {
	all := slices.SortedFunc(slices.Values(s), func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	return out
}

// union returns the characters of both sets.
func (s charSet) union(other charSet) charSet { return slices.Concat(s, other) }

// intersect returns the characters that both sets have.
func (s charSet) intersect(other charSet) charSet {
	return s.complement().union(other.complement()).complement()
}

// predicate reports whether a character is in the set.
func (s charSet) predicate() func(rune) bool {
	sorted := s.sorted()
	var ascii [unicode.MaxASCII + 1]bool
	for c := range rune(len(ascii)) {
		ascii[c] = sorted.has(c)
	}
	return func(c rune) bool {
		if c <= unicode.MaxASCII {
			return ascii[c]
		}
		return sorted.has(c)
	}
}

// has looks a character up in a sorted set.
func (s charSet) has(c rune) bool {
	_, found := slices.BinarySearchFunc(s, c, func(r [2]rune, c rune) int {
		switch {
		case r[1] < c:
			return -1
		case r[0] > c:
			return 1
		}
		return 0
	})
	return found
}

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

// writeTo writes the set as Go has it.
func (s charSet) writeTo(out *strings.Builder) {
	s = s.sorted()
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
