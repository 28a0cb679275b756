package javaregexp

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// A Separator splits values as Java's String.split does: by a regular expression, without the empty
// pieces at the end.
//
// A Separator is safe for concurrent use.
type Separator struct {
	exact *Regexp
	re    *regexp.Regexp // nil if only the engine that goes back finds all matches
	// no part of the expression looks at its surroundings, so a match may begin anywhere
	local   bool
	literal string // the text that the expression matches, when it is plain text such as \.
}

var errScans = errors.New(`\G is not supported in a separator`)

// CompileSeparator compiles a regular expression of Java that separates pieces. It refuses what
// Compile refuses, and \G.
func CompileSeparator(pattern string) (*Separator, error) {
	r, err := Compile(pattern)
	if err != nil {
		return nil, err
	}
	if r.scans {
		return nil, errScans
	}
	s := &Separator{exact: r}
	if r.linear == nil || r.losesGroup {
		return s, nil
	}
	tree, err := syntax.Parse(r.linear.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	if s.local = !looksAround(tree); !s.local && matchesNothing(tree) {
		return s, nil // it matches between characters, by looking at both sides
	}
	s.re = r.linear
	if text, all := s.re.LiteralPrefix(); all {
		s.literal = text
	}
	return s, nil
}

// Literal returns the text that separates, where the expression is plain text such as \.; empty for
// any other expression.
func (s *Separator) Literal() string { return s.literal }

// Split is java.lang.String.split(regex). A value that the expression does not match is one piece;
// one that consists of separators gives none. Steps of the engine that goes back are taken from
// steps; without it they are bounded for the value. The error is ErrTooExpensive.
func (s *Separator) Split(value string, steps *backtrack.Steps) ([]string, error) {
	pieces, err := s.pieces(value, steps)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return []string{value}, nil
	}
	for len(pieces) > 0 && pieces[len(pieces)-1] == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces, nil
}

// pieces are those between the matches, none without a match.
func (s *Separator) pieces(value string, steps *backtrack.Steps) ([]string, error) {
	if s.literal != "" {
		if !strings.Contains(value, s.literal) {
			return nil, nil
		}
		return strings.Split(value, s.literal), nil
	}
	matches, err := s.matches(value, steps)
	if err != nil {
		return nil, err
	}
	var pieces []string
	begin := 0
	for _, m := range matches {
		if m[1] == 0 {
			continue // Java 8: an empty match at the beginning gives no piece
		}
		pieces = append(pieces, value[begin:m[0]])
		begin = m[1]
	}
	if len(pieces) == 0 {
		return nil, nil
	}
	return append(pieces, value[begin:]), nil
}

// matches are those that Java's Matcher.find returns one after the other: the next one is looked
// for where the last one ended, one character further if it was empty. Go's FindAll leaves out an
// empty match right after another.
func (s *Separator) matches(value string, steps *backtrack.Steps) ([][]int, error) {
	switch {
	case s.re == nil || !s.exact.runs(value):
		return s.exact.findAll(value, steps)
	case !s.local:
		return s.re.FindAllStringIndex(value, -1), nil
	}
	var all [][]int
	for from := 0; from <= len(value); {
		m := s.re.FindStringIndex(value[from:])
		if m == nil {
			break
		}
		begin, end := from+m[0], from+m[1]
		all = append(all, []int{begin, end})
		from = next(value, begin, end)
	}
	return all, nil
}

// findAll returns where all matches begin and end, by going back.
func (r *Regexp) findAll(text string, steps *backtrack.Steps) (all [][]int, err error) {
	m := r.program().Match(text, steps)
	defer m.End()
	for from := 0; from <= len(text); {
		if _, ok := m.Search(from, false); !ok {
			break
		}
		begin, end := m.Group(0)
		all = append(all, []int{begin, end})
		from = next(text, begin, end)
	}
	return all, m.Err()
}

// next is where the match after another one is looked for.
func next(text string, begin, end int) int {
	if begin < end {
		return end
	}
	return end + runeWidth(text[end:])
}

// runeWidth returns the length in bytes of the first character, 1 at the end.
func runeWidth(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return max(len(s), 1)
}
