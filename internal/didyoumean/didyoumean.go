// Package didyoumean suggests similar names for a misspelled one. It is pure.
package didyoumean

import (
	"cmp"
	"slices"
	"strings"
)

// Names returns the names with the fewest edits from a word, the nearest first, at most so many: those
// with one edit, and one more for every eight letters of the word. Capital letters count as small ones.
func Names(word string, names []string, most int) []string {
	type near struct {
		name  string
		edits int
	}
	var found []near
	word = strings.ToLower(word)
	limit := len(word)/8 + 2
	for _, name := range names {
		if differ := len(name) - len(word); differ >= limit || -differ >= limit {
			continue
		}
		if n := edits(word, strings.ToLower(name)); n < limit {
			found = append(found, near{name, n})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.edits, b.edits) })
	list := make([]string, 0, most)
	for _, f := range found[:min(most, len(found))] {
		list = append(list, f.name)
	}
	return list
}

// Question asks whether one of some names was meant; empty without names.
func Question(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// edits returns how many insertions, deletions, changes and swaps of neighbouring letters turn a
// into b.
func edits(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, now := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
