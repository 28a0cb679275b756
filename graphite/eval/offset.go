package eval

import (
	"fmt"
	"strconv"
	"strings"
)

// unit is a unit of time in Graphite's grammar; only the beginning of its name matters.
type unit int64

const (
	second unit = 1
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
	week        = 7 * day
	month       = 30 * day
	year        = 365 * day
)

func parseUnit(name string) (unit, error) {
	switch {
	case strings.HasPrefix(name, "s"):
		return second, nil
	case strings.HasPrefix(name, "min"):
		return minute, nil
	case strings.HasPrefix(name, "h"):
		return hour, nil
	case strings.HasPrefix(name, "d"):
		return day, nil
	case strings.HasPrefix(name, "w"):
		return week, nil
	case strings.HasPrefix(name, "mon"):
		return month, nil
	case strings.HasPrefix(name, "y"):
		return year, nil
	}
	return 0, fmt.Errorf("Invalid offset unit '%s'", name) //nolint:staticcheck // graphite-web's words.
}

// ParseOffset reads an interval such as `5min`, `-1h30min` or `+1d` and returns seconds. `5m` is an
// error, not minutes. Nothing is 0.
func ParseOffset(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	sign := int64(1)
	switch {
	case isDigit(text[0]):
	case text[0] == '-':
		sign = -1
		fallthrough
	case text[0] == '+':
		text = text[1:]
	default:
		return 0, fmt.Errorf("Invalid offset: %s", text) //nolint:staticcheck // graphite-web's words.
	}
	var total int64
	for text != "" {
		digits := prefix(text, isDigit)
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > maxOffset {
			return 0, fmt.Errorf("invalid offset number '%s'", digits)
		}
		text = text[len(digits):]
		name := prefix(text, isLetter)
		text = text[len(name):]
		u, err := parseUnit(name)
		if err != nil {
			return 0, err
		}
		if total += sign * n * int64(u); total > maxOffset || total < -maxOffset {
			return 0, fmt.Errorf("offset of more than %d seconds", maxOffset)
		}
	}
	return total, nil
}

// maxOffset is a thousand years; numbers below it times any unit stay within 64 bits.
const maxOffset = 1000 * int64(year)

func prefix(s string, is func(byte) bool) string {
	i := 0
	for i < len(s) && is(s[i]) {
		i++
	}
	return s[:i]
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
