package carbon

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// parseFloat reads a number as Python's float() does: decimal, with an optional exponent, in the
// digits of any script, with single underscores between digits; or inf, infinity, nan. Values that
// overflow are infinite. It refuses hexadecimal numbers and everything else that only strconv
// accepts.
func parseFloat(b []byte) (float64, bool) {
	if d, n := decimal.Scan(b); n > 0 && n == len(b) {
		if v, ok := d.Float64(); ok {
			return v, true
		}
	}
	b, ok := plainDigits(b)
	if !ok {
		return 0, false
	}
	if !isDecimal(b) {
		return parseSpecial(b)
	}
	// the only remaining error is the range; the value is then infinite
	v, _ := strconv.ParseFloat(string(b), 64)
	return v, true
}

// plainDigits writes digits of other scripts in ASCII and leaves out underscores between digits.
func plainDigits(b []byte) ([]byte, bool) {
	plain := true
	for _, c := range b {
		plain = plain && c < utf8.RuneSelf && c != '_'
	}
	if plain {
		return b, true
	}
	out := make([]byte, 0, len(b))
	underscore := false
	for _, r := range string(b) {
		if r >= utf8.RuneSelf {
			if r = digitOf(r); r < 0 {
				return nil, false
			}
		}
		digit := r >= '0' && r <= '9'
		if r == '_' {
			if underscore || !endsInDigit(out) {
				return nil, false
			}
			underscore = true
			continue
		}
		if underscore && !digit {
			return nil, false
		}
		underscore = false
		out = append(out, byte(r))
	}
	return out, !underscore
}

func endsInDigit(b []byte) bool {
	return len(b) > 0 && b[len(b)-1] >= '0' && b[len(b)-1] <= '9'
}

// digitOf returns the ASCII digit of a digit in another script, negative for other characters.
// Unicode has decimal digits in runs of ten from zero to nine.
func digitOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return -1
}

// isDecimal reports whether b is an optional sign, digits with an optional point, and an optional
// exponent.
func isDecimal(b []byte) bool {
	b = skipSign(b)
	whole := skipDigits(b)
	digits := len(b) - len(whole)
	b = whole
	if len(b) > 0 && b[0] == '.' {
		fraction := skipDigits(b[1:])
		digits += len(b) - 1 - len(fraction)
		b = fraction
	}
	if digits == 0 || len(b) == 0 {
		return digits > 0
	}
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	b = skipSign(b[1:])
	return len(b) > 0 && len(skipDigits(b)) == 0
}

func skipSign(b []byte) []byte {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		return b[1:]
	}
	return b
}

func skipDigits(b []byte) []byte {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		b = b[1:]
	}
	return b
}

// parseSpecial reads infinities and NaN.
func parseSpecial(b []byte) (float64, bool) {
	sign := 1
	if len(b) > 0 && b[0] == '-' {
		sign = -1
	}
	b = skipSign(b)
	switch {
	case bytes.EqualFold(b, []byte("inf")), bytes.EqualFold(b, []byte("infinity")):
		return math.Inf(sign), true
	case bytes.EqualFold(b, []byte("nan")):
		return math.NaN(), true
	}
	return 0, false
}
