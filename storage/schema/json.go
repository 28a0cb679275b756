package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The documents are printed here and not by encoding/json, since a TSD compares them byte for byte
// with what Jackson prints: other escapes, other numbers, a fixed order.

// appendField appends a name, as the caller wrote it with its punctuation, and a string.
func appendField(dst []byte, name, value string) []byte {
	return appendString(append(dst, name...), value)
}

// appendString appends a string with Jackson's escapes: quote, backslash, control characters below a
// blank, and the two UTF-16 units of a character above U+FFFF, nothing else. What is not UTF-8 becomes
// U+FFFD.
func appendString(dst []byte, s string) []byte {
	if needsNoEscape(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst = append(dst, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		short := strings.IndexRune("\b\t\n\f\r\"\\", c)
		switch {
		case short >= 0:
			dst = append(dst, '\\', `btnfr"\`[short])
		case c < ' ':
			dst = appendUnit(dst, c)
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}

// appendUnit appends the escape of a UTF-16 unit.
func appendUnit(dst []byte, unit rune) []byte {
	return append(dst, '\\', 'u', hexDigits[unit>>12&15], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
}

// needsNoEscape reports whether a string is nothing but ASCII that stands for itself.
func needsNoEscape(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendMap appends an object in the order of a Java TreeMap of strings, or null.
func appendMap(dst []byte, m map[string]string) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, k := range slices.SortedFunc(maps.Keys(m), compareJava) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k), ':')
		dst = appendString(dst, m[k])
	}
	return append(dst, '}')
}

// compareJava is Java's String.compareTo: by UTF-16 units, which is not the order of the UTF-8
// bytes above U+D7FF.
func compareJava(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendDouble appends a number as Jackson prints a Java double: Double.toString, in quotes when it
// is not a JSON number.
func appendDouble(dst []byte, f float64) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		return append(dst, withPoint(strconv.FormatFloat(f, 'f', -1, 64))...)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	// Java takes the closest number of two digits: 4.9E-324, where Go has 5e-324.
	if !strings.Contains(mantissa, ".") {
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(f, 'e', 1, 64), "e")
	}
	dst = append(append(dst, mantissa...), 'E')
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, strings.TrimLeft(exponent[1:], "0")...) // Go has a sign and two digits: e+07
}

// withPoint makes a whole number one of Java's doubles.
func withPoint(s string) string {
	if strings.Contains(s, ".") {
		return s
	}
	return s + ".0"
}

// double reads what appendDouble appends.
type double float64

// UnmarshalJSON takes a number or a string that holds one.
func (d *double) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s[0] == '"' {
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("parse number %s: %w", b, err)
		}
	} else if s == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("parse number %s: %w", b, err)
	}
	*d = double(f)
	return nil
}
