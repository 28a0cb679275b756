package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// A RollupSpan is the time that a row of a rollup table covers: N hours, or a day, a month or a year
// of UTC (Unit h, d, n, y; N is 1 but for hours).
type RollupSpan struct {
	Unit byte
	N    int
}

// Base returns where the span of a time begins, both in seconds.
func (s RollupSpan) Base(t uint32) uint32 {
	if s.Unit == 'h' {
		return t - t%uint32(s.N*RowSeconds)
	}
	year, month, day := time.Unix(int64(t), 0).UTC().Date()
	switch s.Unit {
	case 'n':
		day = 1
	case 'y':
		month, day = time.January, 1
	}
	return uint32(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix())
}

// Seconds returns the length of the longest span, as OpenTSDB assumes it: months have 32 days.
func (s RollupSpan) Seconds() int {
	const day = 24 * RowSeconds
	switch s.Unit {
	case 'h':
		return s.N * RowSeconds
	case 'd':
		return day
	case 'n':
		return 32 * day
	}
	return 366 * day
}

// MaxRollupIntervals is how many intervals a row of a rollup table may have: a TSD takes the offsets
// from there on for milliseconds.
const MaxRollupIntervals = 0xF00

// RollupQualifier returns the qualifier of a rolled up value: the id of the aggregation that made it,
// and, on two bytes, the number of the interval in its row and the flags of the value.
func RollupQualifier(aggregation byte, interval int, flags byte) []byte {
	return binary.BigEndian.AppendUint16([]byte{aggregation}, uint16(interval<<SecondsShift)|uint16(flags))
}

// RollupInterval returns the number of the interval of a cell of any aggregation.
func RollupInterval(qualifier []byte) (n int, ok bool) {
	at := len(qualifier) - 2
	if at == 1 && qualifier[0] < 0x80 || at > 1 && qualifier[at-1] == ':' {
		return int(binary.BigEndian.Uint16(qualifier[at:]) >> SecondsShift), true
	}
	return 0, false
}

// IsRollupOf reports whether a cell is a value that an aggregation made. The name of the aggregation in lower case, and a colon, may stand for
// its id.
func IsRollupOf(qualifier []byte, aggregation byte, name string) bool {
	rest, named := bytes.CutPrefix(qualifier, []byte(name+":"))
	return named && len(rest) == 2 || len(qualifier) == 3 && qualifier[0] == aggregation
}

// OffsetOf returns the offset in its hour, in milliseconds, of the one point that a cell has.
func OffsetOf(qualifier []byte) (offset uint32, ok bool) {
	if ClassifyCell(qualifier) != CellData {
		return 0, false
	}
	p, n := CutQualifier(qualifier)
	return p.Offset, n == len(qualifier)
}

// ParseRollup returns the value of a cell of a rollup table and the number of its interval. ok is
// false for the cells of other aggregations. The name of the aggregation in lower case, and a colon,
// may stand for its id, as versions before 2.4 wrote it.
func ParseRollup(qualifier, value []byte, aggregation byte, name string) (interval int, p Point, ok bool, err error) {
	rest, named := bytes.CutPrefix(qualifier, []byte(name+":"))
	switch {
	case named && len(rest) == 2:
	case len(qualifier) == 3 && qualifier[0] == aggregation:
		rest = qualifier[1:]
	default:
		return 0, Point{}, false, nil
	}
	bits := binary.BigEndian.Uint16(rest)
	points, err := DecodeData(nil, []byte{0, byte(bits & FlagsMask)}, value)
	if err != nil || len(points) != 1 {
		return 0, Point{}, false, fmt.Errorf("rollup cell %X: its value has %d bytes: %w", Clip(qualifier), len(value), err)
	}
	return int(bits >> SecondsShift), points[0], true, nil
}
