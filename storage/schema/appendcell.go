package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// DecodeAppend appends the points of an append cell in ascending order of Offset. The value is
// qualifier, value, qualifier, value and so on in order of arrival; of several at one instant the
// last one counts, as in OpenTSDB 2.4 AppendDataPoints.parseKeyValue. After an error dst is as it
// was. tsdbridge never writes such cells: an append must not be repeated.
func DecodeAppend(dst []Point, value []byte) ([]Point, error) {
	start := len(dst)
	sorted := true
	for rest := value; len(rest) > 0; {
		p, n := cutQualifier(rest)
		bits, width := cutValue(p.Flags, rest[n:])
		if n == 0 || width == 0 {
			return dst[:start], fmt.Errorf("append cell of %d bytes: no point at byte %d", len(value), len(value)-len(rest))
		}
		p.Bits = bits
		sorted = sorted && (len(dst) == start || dst[len(dst)-1].Offset < p.Offset)
		dst = append(dst, p)
		rest = rest[n+width:]
	}
	if sorted {
		return dst, nil
	}
	return dst[:start+sortLastWins(dst[start:])], nil
}

// sortLastWins sorts the points, keeps the last of each instant and returns how many are left.
func sortLastWins(points []Point) int {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.Offset, b.Offset) })
	kept := 0
	for i, p := range points {
		if i > 0 && points[kept-1].Offset == p.Offset {
			kept--
		}
		points[kept] = p
		kept++
	}
	return kept
}
