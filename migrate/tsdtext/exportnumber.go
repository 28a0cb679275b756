package tsdtext

import (
	"math"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
)

// appendStamp writes a time as importers read it: in seconds if it is a whole second, else in
// milliseconds.
func appendStamp(b []byte, t int64) []byte {
	seconds := t / 1000
	if seconds*1000 == t && t > 0 {
		return strconv.AppendInt(b, seconds, 10)
	}
	b = strconv.AppendInt(b, t, 10)
	if t>>32 == 0 {
		b = append(b, putline.MillisSuffix...)
	}
	return b
}

func appendInteger(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// Floats of these sizes are written without an exponent.
const shortFloat, longFloat = 1e-5, 1e15

// appendFloat writes the shortest text that is read back with the same bits, and as a float: with a point
// or an exponent.
func appendFloat(b []byte, bits uint64) []byte {
	v := math.Float64frombits(bits)
	size := math.Abs(v)
	switch {
	case bits&(0x7ff<<52) == 0x7ff<<52:
		return appendSpecial(b, bits)
	case size != 0 && (size < shortFloat || size >= longFloat):
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	case v == math.Trunc(v):
		return append(strconv.AppendFloat(b, v, 'f', -1, 64), '.', '0')
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// appendSpecial writes a value that is no number as parseSpecial reads it.
func appendSpecial(b []byte, bits uint64) []byte {
	v := math.Float64frombits(bits)
	if !math.IsNaN(v) || bits == math.Float64bits(math.NaN()) {
		return java.AppendFloat(b, v, 64)
	}
	b = append(b, notANumber...)
	return strconv.AppendUint(b, bits, 16)
}
