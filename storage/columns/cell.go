package columns

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Append appends the times, in milliseconds since 1970 when base is the base time of the
// row, and the values of a data cell, in the order of the cell, as DecodeData reads it. An integer
// beyond 53 bits is rounded. After an error both are as they were.
func Append(times []int64, values []float64, qualifier, value []byte, base uint32) ([]int64, []float64, error) {
	if len(qualifier) < 4 || len(qualifier)%2 != 0 {
		return appendPlainColumns(times, values, qualifier, value, base)
	}
	n := evenColumns(qualifier, value)
	if n < 2 {
		return appendPlainColumns(times, values, qualifier, value, base)
	}
	begin, at := int64(base)*1000, len(times)
	times, values = slices.Grow(times, n)[:at+n], slices.Grow(values, n)[:at+n]
	if schema.IsMillis(qualifier[0]) {
		for i := range n {
			times[at+i] = begin + int64(binary.BigEndian.Uint32(qualifier[4*i:])>>schema.MsShift&schema.MsOffsetMask)
		}
	} else {
		for i := range n {
			times[at+i] = begin + int64(binary.BigEndian.Uint16(qualifier[2*i:])>>schema.SecondsShift)*1000
		}
	}
	if len(value)/n == 4 {
		for i := range n {
			values[at+i] = float64(math.Float32frombits(binary.BigEndian.Uint32(value[4*i:])))
		}
	} else {
		for i := range n {
			values[at+i] = math.Float64frombits(binary.BigEndian.Uint64(value[8*i:]))
		}
	}
	return times, values, nil
}

// evenColumns returns how many points a compacted cell has if all are floats of one length with
// qualifiers of one length, as most are; else 0.
func evenColumns(q, v []byte) int {
	flags := q[len(q)-1] & schema.FlagsMask
	if flags != schema.FlagsFloat4 && flags != schema.FlagsFloat8 {
		return 0
	}
	n, differ := len(q)/2, uint32(0)
	if schema.IsMillis(q[0]) {
		if n /= 2; len(q)%4 != 0 {
			return 0
		}
		for i := range n {
			differ |= binary.BigEndian.Uint32(q[4*i:]) ^ (schema.MsMark | uint32(flags))
		}
		differ &= schema.MsMark | schema.FlagsMask
	} else {
		for i := range n {
			word := binary.BigEndian.Uint16(q[2*i:])
			differ |= uint32(word&schema.FlagsMask) ^ uint32(flags)
			if word >= schema.MsMark>>16 {
				return 0
			}
		}
	}
	if size := n * lengthOf(flags); differ != 0 || len(v) != size && len(v) != size+1 {
		return 0 // the trailing byte may be missing, see decodeCompacted
	}
	return n
}

func lengthOf(flags byte) int { return int(schema.ValueLengths[flags]) }

// appendPlainColumns takes any cell.
func appendPlainColumns(times []int64, values []float64, qualifier, value []byte, base uint32) ([]int64, []float64, error) {
	var few [8]schema.Point
	points, err := schema.DecodeData(few[:0], qualifier, value)
	if err != nil {
		return times, values, err
	}
	for _, p := range points {
		times, values = append(times, schema.Time(base, p.Offset)), append(values, p.Float())
	}
	return times, values, nil
}

// Count returns the number of points that a column-coded cell claims, 0 if it claims none.
// The points are not checked.
func Count(coded []byte) int {
	if len(coded) < 2 || coded[0]&formReserved != 0 {
		return 0
	}
	count, n := binary.Uvarint(coded[1:])
	if n <= 0 || count > maxColumnPoints {
		return 0
	}
	return int(count)
}

// FullCount guesses how many points a row would have that is as dense as a column-coded cell, all
// over its hour: a series may begin in the middle of one.
func FullCount(coded []byte) int {
	const (
		most = 4   // times as many points as the cell has
		few  = 256 // that any row may have
	)
	r := reader{rest: coded}
	var d Decoder
	n := d.begin(&r)
	first := r.uvarint()
	if r.bad {
		return 0
	}
	if d.unit() == 1 {
		first /= 1000
	}
	if first >= schema.RowSeconds {
		return n
	}
	return max(n, min(n*schema.RowSeconds/int(schema.RowSeconds-first), max(most*n, few)))
}

// DataCount guesses how many points a data cell has; it has no more.
func DataCount(qualifier []byte) int { return len(qualifier) / 2 }
