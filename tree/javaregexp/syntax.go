package javaregexp

import (
	"regexp/syntax"
	"slices"
)

// looksAround reports whether an expression has an anchor or a word boundary.
func looksAround(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksAround)
}

// matchesNothing reports whether an expression can match the empty text.
func matchesNothing(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !matchesNothing(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesNothing)
	case syntax.OpCapture, syntax.OpPlus:
		return matchesNothing(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || matchesNothing(re.Sub[0])
	default: // stars, quests, anchors
		return true
	}
}

// losesGroup reports whether an expression repeats something that has a group and can match
// nothing: Java goes round once more for nothing and leaves the group empty, Go does not.
func losesGroup(re *syntax.Regexp) bool {
	repeats := re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max != 1
	if repeats && matchesNothing(re.Sub[0]) && re.MaxCap() > 0 {
		return true
	}
	return slices.ContainsFunc(re.Sub, losesGroup)
}
