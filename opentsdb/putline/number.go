package putline

import (
	"math"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// The two classes of errors of a TSD, named after Java's exceptions. Telnet's answers contain them.
type (
	// NumberError is a NumberFormatException: text that is not a number.
	NumberError string
	// ArgumentError is an IllegalArgumentException.
	ArgumentError string
)

// Error returns a TSD's words.
func (e NumberError) Error() string { return string(e) }

// Error returns a TSD's words.
func (e ArgumentError) Error() string { return string(e) }

// A Number is a value as it was sent: the bits of an int64 or of a float64.
type Number struct {
	Bits    uint64
	Integer bool
}

func integerNumber(v int64) Number { return Number{Bits: uint64(v), Integer: true} }

// FloatNumber returns the number of a float.
func FloatNumber(v float64) Number { return Number{Bits: math.Float64bits(v)} }

// Finite reports whether a TSD would take the number.
func (n Number) Finite() bool {
	return n.Integer || n.Bits&(0x7ff<<52) != 0x7ff<<52
}

// ScanNumber reads the number that b begins with: most are a few digits, perhaps with a point or an
// exponent. length is 0, and ok is false, when the number needs a closer look.
func ScanNumber(b []byte) (n Number, length int, ok bool) {
	d, length := decimal.Scan(b)
	if d.Whole {
		return integerNumber(d.Int64()), length, true
	}
	v, ok := d.Float64()
	return FloatNumber(v), length, ok && length > 0
}

// ParseShort reads most numbers.
func ParseShort(b []byte) (n Number, ok bool) {
	n, length, ok := ScanNumber(b)
	return n, ok && length == len(b)
}

// ParseNumber reads a value as a TSD does: what has neither ".", "e" nor "E" is an integer
// (Tags.looksLikeInteger), anything else is Java's Double.parseDouble. Infinities and NaN are read,
// and are not finite.
func ParseNumber(text []byte) (Number, error) {
	if n, ok := ParseShort(text); ok {
		return n, nil
	}
	s := Latin1(text)
	if !strings.ContainsAny(s, ".eE") {
		v, err := ParseLong(s)
		return integerNumber(v), err
	}
	v, err := parseDouble(s)
	return FloatNumber(v), err
}

// ParseLong is OpenTSDB's Tags.parseLong, with its texts.
func ParseLong(s string) (int64, error) {
	if s == "" {
		return 0, NumberError("Empty string")
	}
	digits := strings.TrimPrefix(s, "+")
	if digits == s {
		digits = strings.TrimPrefix(s, "-")
	}
	switch {
	case digits == "":
		return 0, NumberError("Just a sign, no value: " + s)
	case len([]rune(digits)) > 19:
		return 0, NumberError("Value too long: " + s)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, NumberError("Invalid character '" + string(c) + "' in " + s)
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, NumberError("Overflow in " + s)
	}
	return v, nil
}

// parseDouble is Java's Double.parseDouble but for its words (NaN, Infinity).
func parseDouble(s string) (float64, error) { return ParseFloat(s, 64) }

// ParseFloat is Java's Double.parseDouble or Float.parseFloat, by the number of bits: white space around, a
// letter of the type at the end, and hexadecimal digits are allowed.
func ParseFloat(s string, bits int) (float64, error) {
	trimmed := strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	body := strings.TrimPrefix(trimmed, "-")
	if body == trimmed {
		body = strings.TrimPrefix(trimmed, "+")
	}
	if trimmed == "" {
		return 0, NumberError("empty String")
	}
	hex := strings.HasPrefix(body, "0x") || strings.HasPrefix(body, "0X")
	if !hex && manyPoints(body) {
		return 0, NumberError("multiple points")
	}
	if n := len(trimmed); strings.ContainsRune("fFdD", rune(trimmed[n-1])) && (!hex || strings.ContainsAny(body, "pP")) {
		trimmed, body = trimmed[:n-1], body[:len(body)-1]
	}
	if body == "" || strings.Contains(body, "_") || !hex && strings.IndexByte("0123456789.", body[0]) < 0 {
		return 0, InputError(s)
	}
	v, err := strconv.ParseFloat(trimmed, bits)
	if err != nil && !math.IsInf(v, 0) {
		return 0, InputError(s)
	}
	return v, nil
}

// InputError is what Java says of a text that is no number.
func InputError(s string) error {
	return NumberError(`For input string: "` + strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) + `"`)
}

// manyPoints reports whether there are two points before anything but digits.
func manyPoints(s string) bool {
	points := 0
	for _, c := range s {
		switch {
		case c == '.':
			points++
		case c < '0' || c > '9':
			return points > 1
		}
	}
	return points > 1
}

// Latin1 returns the text of bytes that stand for one character each, as telnet is read.
func Latin1(b []byte) string {
	ascii := true
	for _, c := range b {
		ascii = ascii && c < 0x80
	}
	if ascii {
		return string(b)
	}
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }
