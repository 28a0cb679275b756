package java

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// DefaultCapacity is that of a HashMap which was made for no number.
const DefaultCapacity = 16

// InMapOrder returns keys in the order in which a HashMap lists them that was made for so many and filled
// in the given order: by bucket, in a bucket as they came. The table doubles when it is three quarters
// full.
func InMapOrder(keys []string, capacity int) []string {
	return InMapOrderBy(keys, func(key string) string { return key }, capacity)
}

// InMapOrderBy is InMapOrder for entries that have keys.
func InMapOrderBy[T any](entries []T, key func(T) string, capacity int) []T {
	buckets := uint32(1)
	for int(buckets) < capacity || 4*len(entries) > 3*int(buckets) {
		buckets *= 2
	}
	out := slices.Clone(entries)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(hash(key(a))&(buckets-1), hash(key(b))&(buckets-1)) })
	return out
}

// hash is String.hashCode, spread as HashMap does.
func hash(s string) uint32 {
	h := uint32(0)
	for _, c := range s {
		if c > 0xFFFF {
			var high rune
			high, c = utf16.EncodeRune(c)
			h = 31*h + uint32(high)
		}
		h = 31*h + uint32(c)
	}
	return h ^ h>>16
}
