// Package java has what of Java shows in a TSD's answers: how it converts and prints numbers, and in which
// order its maps list their keys.
package java

import (
	"bytes"
	"math"
	"strconv"
)

// ToLong converts a double to a long: NaN is 0, and what is too great is the greatest.
func ToLong(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

// AppendFloat prints a float of 32 or 64 bits as Java's Float.toString and Double.toString do.
func AppendFloat(b []byte, v float64, bits int) []byte {
	switch abs := math.Abs(v); {
	case v != v:
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	case v == 0 || abs >= 1e-3 && abs < 1e7:
		from := len(b)
		b = strconv.AppendFloat(b, v, 'f', -1, bits)
		if bytes.IndexByte(b[from:], '.') < 0 {
			b = append(b, ".0"...)
		}
		return b
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, bits)
	mantissa, exponent, _ := bytes.Cut(text, []byte{'e'})
	b = append(b, mantissa...)
	if bytes.IndexByte(mantissa, '.') < 0 {
		b = append(b, ".0"...)
	}
	b = append(b, 'E')
	if exponent[0] == '-' {
		b = append(b, '-')
	}
	return append(b, bytes.TrimLeft(exponent[1:], "0")...)
}
