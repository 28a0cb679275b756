package query

import (
	"bytes"
	"math"
	"strconv"
)

// AppendDouble prints a float as Java does: 42.0, 1.0E10, 1.0E-5; in quotes what is no number or infinite.
func AppendDouble(b []byte, v float64) []byte {
	if v-v != 0 {
		return append(appendJava(append(b, '"'), v, 64), '"')
	}
	return appendJava(b, v, 64)
}

// appendJava prints a float of 32 or 64 bits as Java's Float.toString and Double.toString do.
func appendJava(b []byte, v float64, bits int) []byte {
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
