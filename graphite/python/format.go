package python

import (
	"fmt"
	"math"
	"strings"
)

// maxFormatDigits bounds width and precision of a format.
const maxFormatDigits = 3

// longestNumber returns the number of digits of the longest number in a text.
func longestNumber(s string) int {
	longest, n := 0, 0
	for i := range len(s) {
		if n++; !IsDigit(s[i]) {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// Format is Python's `format % value` with one number: exactly one conversion, of the kinds that
// numbers have.
func Format(format string, value float64, ints bool) (string, error) {
	var b strings.Builder
	used := false
	for format != "" {
		plain, rest, found := strings.Cut(format, "%")
		b.WriteString(plain)
		if !found {
			break
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			b.WriteByte('%')
			format = after
			continue
		}
		if used {
			return "", Crash("not enough arguments for format string")
		}
		used = true
		flags := Prefix(rest, func(c byte) bool { return strings.IndexByte("#0- +.123456789", c) >= 0 })
		if longestNumber(flags) > maxFormatDigits {
			return "", Crash("a format's width of more than %d digits", maxFormatDigits)
		}
		rest = rest[len(flags):]
		rest = strings.TrimLeft(rest, "hlL")
		if rest == "" {
			return "", Crash("incomplete format")
		}
		s, err := conversion(flags, rest[0], value, ints)
		if err != nil {
			return "", err
		}
		b.WriteString(s)
		format = rest[1:]
	}
	if !used {
		return "", Crash("not all arguments converted during string formatting")
	}
	return b.String(), nil
}

func conversion(flags string, verb byte, value float64, ints bool) (string, error) {
	switch verb {
	case 'd', 'i', 'u':
		digits, err := DecimalText(value)
		if err != nil {
			return "", err
		}
		return signed(flags, digits), nil
	case 's', 'r', 'a':
		return fmt.Sprintf("%"+strings.Trim(flags, "0#+ ")+"s", ValueText(value, ints)), nil
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return fmt.Sprintf("%"+withoutPrecision(flags)+"s", FloatText(value)), nil
		}
		if (verb == 'g' || verb == 'G') && !strings.Contains(flags, ".") {
			flags += ".6"
		}
		return fmt.Sprintf("%"+flags+string(verb), value), nil
	}
	return "", Crash("unsupported format character %q", verb)
}

// signed is "%d" with flags for digits of any length.
func signed(flags, digits string) string {
	sign := ""
	switch {
	case strings.HasPrefix(digits, "-"):
		sign, digits = "-", digits[1:]
	case strings.Contains(flags, "+"):
		sign = "+"
	case strings.Contains(flags, " "):
		sign = " "
	}
	width := 0
	trimmed := strings.TrimLeft(withoutPrecision(flags), "#0- +")
	_, _ = fmt.Sscanf(trimmed, "%d", &width)
	missing := max(0, width-len(sign)-len(digits))
	switch {
	case strings.Contains(flags, "-"):
		return sign + digits + strings.Repeat(" ", missing)
	case strings.HasPrefix(strings.TrimLeft(flags, "#+ "), "0"):
		return sign + strings.Repeat("0", missing) + digits
	}
	return strings.Repeat(" ", missing) + sign + digits
}

func withoutPrecision(flags string) string {
	flags, _, _ = strings.Cut(flags, ".")
	return flags
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// Prefix returns the bytes at the beginning of a text that pass.
func Prefix(s string, is func(byte) bool) string {
	i := 0
	for i < len(s) && is(s[i]) {
		i++
	}
	return s[:i]
}
