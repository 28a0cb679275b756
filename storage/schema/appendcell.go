package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// DecodeAppend appends the points of an append cell in ascending order of Offset. The value is
// qualifier, value, qualifier, value and so on in order of arrival; of several at one instant the
// last one counts, as in OpenTSDB 2.4 AppendDataPoints.parseKeyValue. After an error dst is as it
// was.
func DecodeAppend(dst []Point, value []byte) ([]Point, error) {
	start := len(dst)
	dst, err := DecodeArrivals(dst, value)
	if err != nil || ascending(dst[start:]) {
		return dst, err
	}
	return dst[:start+sortLastWins(dst[start:])], nil
}

// DecodeArrivals appends all points of an append cell in the order of their arrival. After an error
// dst is as it was.
func DecodeArrivals(dst []Point, value []byte) ([]Point, error) {
	start := len(dst)
	for rest := value; len(rest) > 0; {
		p, n := CutQualifier(rest)
		bits, width := CutValue(p.Flags, rest[n:])
		if n == 0 || width == 0 {
			return dst[:start], fmt.Errorf("append cell of %d bytes: no point at byte %d", len(value), len(value)-len(rest))
		}
		p.Bits = bits
		dst = append(dst, p)
		rest = rest[n+width:]
	}
	return dst, nil
}

// AppendArrivals appends the value of an append cell with the points, in the order of their arrival.
// A write that continues such a cell must compare it: an append that is repeated would be there
// twice, and might bring an old value back.
func AppendArrivals(dst []byte, points []Point) []byte {
	for _, p := range points {
		dst = p.AppendValue(p.AppendQualifier(dst))
	}
	return dst
}

// ArrivalsQualifier returns the qualifier of the append cell of a row.
func ArrivalsQualifier() []byte { return []byte{prefixAppend, 0, 0} }

// ascending reports whether every point is later than the one before it.
func ascending(points []Point) bool {
	for i := 1; i < len(points); i++ {
		if points[i].Offset <= points[i-1].Offset {
			return false
		}
	}
	return true
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
