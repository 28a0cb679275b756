package javaregexp

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A Separator splits values as Java's String.split does: by a regular expression, without the empty
// pieces at the end.
//
// A Separator is safe for concurrent use.
type Separator struct {
	re    *regexp.Regexp
	exact *Regexp
	// no part of the expression looks at its surroundings, so a match may begin anywhere
	local   bool
	literal string // the text that the expression matches, when it is plain text such as \.
}

// errEmptyGroup is about expressions like (a*)*.
var errEmptyGroup = errors.New("repeating a group that can match nothing is not supported in a separator")

// errEmptySeparator is about expressions like \b that match between characters by looking at both
// sides.
var errEmptySeparator = errors.New("a separator that matches between characters (^, $, \\b) is not supported")

// CompileSeparator compiles a regular expression of Java that separates pieces. It refuses what
// Compile refuses, what Go's engine cannot run, and expressions that match between characters.
func CompileSeparator(pattern string) (*Separator, error) {
	r, err := Compile(pattern)
	if err != nil {
		return nil, err
	}
	if err := r.Linear(); err != nil {
		return nil, err
	}
	if r.losesGroup {
		return nil, errEmptyGroup
	}
	re := r.linear
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	s := &Separator{re: re, exact: r, local: !looksAround(tree)}
	if !s.local && matchesNothing(tree) {
		return nil, errEmptySeparator
	}
	if text, all := re.LiteralPrefix(); all {
		s.literal = text
	}
	return s, nil
}

// Literal returns the text that separates, where the expression is plain text such as \.; empty for
// any other expression.
func (s *Separator) Literal() string { return s.literal }

// Split is java.lang.String.split(regex). A value that the expression does not match is one piece;
// one that consists of separators gives none.
func (s *Separator) Split(value string) []string {
	pieces := s.pieces(value)
	if len(pieces) == 0 {
		return []string{value}
	}
	for len(pieces) > 0 && pieces[len(pieces)-1] == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// pieces are those between the matches, none without a match.
func (s *Separator) pieces(value string) []string {
	if s.literal != "" {
		if !strings.Contains(value, s.literal) {
			return nil
		}
		return strings.Split(value, s.literal)
	}
	var pieces []string
	begin := 0
	for _, m := range s.matches(value) {
		if m[1] == 0 {
			continue // Java 8: an empty match at the beginning gives no piece
		}
		pieces = append(pieces, value[begin:m[0]])
		begin = m[1]
	}
	if len(pieces) == 0 {
		return nil
	}
	return append(pieces, value[begin:])
}

// matches are those that Java's Matcher.find returns one after the other: the next one is looked
// for where the last one ended, one character further if it was empty. Go's FindAll leaves out an
// empty match right after another.
func (s *Separator) matches(value string) [][]int {
	if !s.local {
		return s.re.FindAllStringIndex(value, -1)
	}
	var all [][]int
	for from := 0; from <= len(value); {
		m := s.re.FindStringIndex(value[from:])
		if m == nil {
			break
		}
		begin, end := from+m[0], from+m[1]
		all = append(all, []int{begin, end})
		if from = end; begin == end {
			from += runeWidth(value[end:])
		}
	}
	return all
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
