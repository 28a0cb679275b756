package glob

import (
	"slices"
	"strings"
)

// A charSet is what stands in brackets. ! negates, ^ is a character, a range from high to low is
// empty.
type charSet struct {
	negated bool
	ranges  [][2]rune
}

// compileSet reads a set from the bracket that begins s and returns how many bytes it took, 0 when
// the bracket is a character: it has no other half. A closing bracket that comes first is a member.
func compileSet(s string) (set *charSet, length int) {
	body := s[1:]
	set = &charSet{}
	if strings.HasPrefix(body, "!") {
		set.negated = true
		body = body[1:]
	}
	first := 0
	if strings.HasPrefix(body, "]") {
		first = 1
	}
	end := strings.IndexByte(body[first:], ']')
	if end < 0 {
		return nil, 0
	}
	end += first
	members := []rune(body[:end])
	for len(members) > 0 {
		if len(members) > 2 && members[1] == '-' {
			set.ranges = append(set.ranges, [2]rune{members[0], members[2]})
			members = members[3:]
			continue
		}
		set.ranges = append(set.ranges, [2]rune{members[0], members[0]})
		members = members[1:]
	}
	return set, len(s) - len(body) + end + 1
}

func (s *charSet) match(c rune) bool {
	within := func(r [2]rune) bool { return r[0] <= c && c <= r[1] }
	return slices.ContainsFunc(s.ranges, within) != s.negated
}
