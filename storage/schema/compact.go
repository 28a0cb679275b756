package schema

import (
	"errors"
	"fmt"
	"slices"
)

// The last byte of a value that holds several points: OpenTSDB 2.4 Const.MS_MIXED_COMPACT is its
// lowest bit.
const (
	TrailerPlain = 0x00
	TrailerMixed = 0x01 // there are qualifiers of 2 and of 4 bytes
)

// AppendCell appends the qualifier and the value of one cell that holds all the points, which
// ascend by Offset with no instant twice: the plain cell of one point, the compacted cell of
// several, nothing of none. No compacted cell is MistakenForAppend: the first of several points
// counts milliseconds where it would make it so.
func AppendCell(q, v []byte, points []Point) (qualifier, value []byte) {
	if len(points) < 2 {
		for _, p := range points {
			q, v = p.AppendQualifier(q), p.AppendValue(v)
		}
		return q, v
	}
	var one [8]byte // neighbours are mostly of one kind
	q = slices.Grow(q, len(points)*len(points[1].AppendQualifier(one[:0]))+2)
	v = slices.Grow(v, len(points)*len(points[0].AppendValue(one[:0]))+1)
	first, trailer := points[0].AsFirst(), byte(TrailerPlain)
	q, v = first.AppendQualifier(q), first.AppendValue(v)
	for _, p := range points[1:] {
		q = p.AppendQualifier(q)
		v = p.AppendValue(v)
		if p.Millis != first.Millis {
			trailer = TrailerMixed
		}
	}
	return q, append(v, trailer)
}

// decodeCompacted reads several points as a TSD does (OpenTSDB 2.4.1, ColumnDatapointIterator): the
// flags alone determine where a value ends. What follows the last value is not looked at: a trailing
// byte of any value, none, or more. Where the value ends with a point, the qualifiers that are left
// have none. A value that ends within a point, and an empty one, are errors.
func decodeCompacted(dst []Point, qualifier, value []byte) ([]Point, error) {
	start := len(dst)
	if len(qualifier) == 0 {
		return dst, errors.New("a cell without a qualifier")
	}
	dst = slices.Grow(dst, pointsIn(qualifier))
	q, v := qualifier, value
	for len(q) > 0 && (len(v) > 0 || len(value) == 0) {
		p, n := CutQualifier(q)
		bits, width := CutValue(p.Flags, v)
		if n == 0 || width == 0 {
			return dst[:start], fmt.Errorf("compacted cell %X of %d bytes: point %d at byte %d of %d has no value",
				Clip(qualifier), len(qualifier), len(dst)-start, len(value)-len(v), len(value))
		}
		p.Bits = bits
		dst = append(dst, p)
		q, v = q[n:], v[width:]
	}
	return dst, nil
}

// pointsIn guesses how many points a qualifier has from the width of its first.
func pointsIn(qualifier []byte) int {
	if IsMillis(qualifier[0]) {
		return len(qualifier) / 4
	}
	return len(qualifier) / 2
}
