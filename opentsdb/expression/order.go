package expression

import (
	"slices"
	"unicode/utf16"
)

// hashed returns names in the order in which Java's HashMap lists them, which was made for so many and
// filled in the given order. A TSD takes the tags of a joined series from the first variable of such a
// map, so that the order shows in answers.
func hashed(names []string, capacity int) []string {
	buckets := 1
	for buckets < capacity {
		buckets *= 2
	}
	for len(names)*4 > buckets*3 {
		buckets *= 2
	}
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int { return hash(a)&(buckets-1) - hash(b)&(buckets-1) })
	return out
}

// defaultCapacity is that of a HashMap which was made for no number.
const defaultCapacity = 16

// hash returns Java's hash of a string, spread as HashMap does.
func hash(s string) int {
	h := uint32(0)
	for _, c := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(c)
	}
	return int(h ^ h>>16)
}
