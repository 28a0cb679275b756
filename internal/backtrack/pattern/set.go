package pattern

import (
	"slices"
	"unicode"
)

// A Set is a set of characters as ranges, first and last, in any order.
type Set [][2]rune

// Sorted returns the ranges in order, without overlap.
func (s Set) Sorted() Set {
	all := s.inOrder()
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

func (s Set) inOrder() Set {
	return slices.SortedFunc(slices.Values(s), func(a, b [2]rune) int { return int(a[0] - b[0]) })
}

// Union returns the characters of both sets.
func (s Set) Union(other Set) Set { return slices.Concat(s, other) }

// Intersect returns the characters that both sets have.
func (s Set) Intersect(other Set) Set {
	return s.Complement().Union(other.Complement()).Complement()
}

// Predicate reports whether a character is in the set.
func (s Set) Predicate() func(rune) bool {
	sorted := s.Sorted()
	var ascii [unicode.MaxASCII + 1]bool
	for c := range rune(len(ascii)) {
		ascii[c] = sorted.Has(c)
	}
	return func(c rune) bool {
		if c <= unicode.MaxASCII {
			return ascii[c]
		}
		return sorted.Has(c)
	}
}

// Has looks a character up in a sorted set.
func (s Set) Has(c rune) bool {
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

// Complement returns every character that is not in the set.
func (s Set) Complement() Set {
	var rest Set
	next := rune(0)
	for _, r := range s.inOrder() {
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
