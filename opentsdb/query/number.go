package query

import (
	"bytes"
	"math"
	"strconv"
)

// appendDouble prints a float as Java does: 42.0, 1.0E10, 1.0E-5; NaN in quotes.
func appendDouble(b []byte, v float64) []byte {
	switch abs := math.Abs(v); {
	case v != v:
		return append(b, `"NaN"`...)
	case v == 0 || abs >= 1e-3 && abs < 1e7:
		from := len(b)
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
		if bytes.IndexByte(b[from:], '.') < 0 {
			b = append(b, ".0"...)
		}
		return b
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, 64)
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
