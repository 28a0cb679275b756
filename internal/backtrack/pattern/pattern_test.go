package pattern

import (
	"slices"
	"testing"
	"unicode"
)

// TestSets: each character is in a set or in its complement.
func TestSets(t *testing.T) {
	for _, s := range []Set{{}, {{'a', 'z'}}, {{'m', 'p'}, {'a', 'c'}, {'b', 'n'}}, {{0, unicode.MaxRune}}, {{0x80, 0x80}, {'a', 'a'}, {0x81, unicode.MaxRune}}} {
		rest := s.Complement()
		if twice := rest.Complement(); !slices.Equal(twice, s.Sorted()) {
			t.Errorf("%v is the complement of that of %v", twice, s)
		}
		if both := s.Intersect(rest); len(both) > 0 {
			t.Errorf("%v and its complement have %v", s, both)
		}
		in, out := s.Predicate(), rest.Predicate()
		for _, c := range []rune{0, 'a', 'b', 'c', 'd', 'n', 'p', 'q', 'z', 0x7f, 0x80, 0x81, unicode.MaxRune} {
			if in(c) == out(c) || in(c) != s.Sorted().Has(c) {
				t.Errorf("%q in %v: %v, in its complement: %v", c, s, in(c), out(c))
			}
		}
	}
}

// TestText reads a text to its end.
func TestText(t *testing.T) {
	p := Text{Src: []rune("(?<é>x")}
	if p.Takes("(?P") || !p.Takes("(?<") || p.Peek(9) != "é>x" {
		t.Errorf("at %d", p.At)
	}
	if name, ok := p.Until('>'); name != "é" || !ok || p.Next() != 'x' {
		t.Errorf("%q, %v, then %q", name, ok, p.Next())
	}
	if _, ok := p.Until('>'); ok || p.Next() != 'x' {
		t.Errorf("at %d", p.At)
	}
	p.At++
	if p.Next() != -1 || p.Takes("x") {
		t.Errorf("there is something at the end")
	}
}
