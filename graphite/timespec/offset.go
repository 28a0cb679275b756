// Package timespec reads times and intervals in Graphite's grammar (attime.py).
package timespec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// Unit is a unit of time in Graphite's grammar; only the beginning of its name matters.
type Unit int64

// The units in seconds.
const (
	second Unit = 1
	Minute      = 60 * second
	Hour        = 60 * Minute
	Day         = 24 * Hour
	Week        = 7 * Day
	Month       = 30 * Day
	Year        = 365 * Day
)

// ParseUnit reads the name of a unit.
func ParseUnit(name string) (Unit, error) {
	switch {
	case strings.HasPrefix(name, "s"):
		return second, nil
	case strings.HasPrefix(name, "min"):
		return Minute, nil
	case strings.HasPrefix(name, "h"):
		return Hour, nil
	case strings.HasPrefix(name, "d"):
		return Day, nil
	case strings.HasPrefix(name, "w"):
		return Week, nil
	case strings.HasPrefix(name, "mon"):
		return Month, nil
	case strings.HasPrefix(name, "y"):
		return Year, nil
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
	case python.IsDigit(text[0]):
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
		digits := python.Prefix(text, python.IsDigit)
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > MaxOffset {
			return 0, fmt.Errorf("invalid offset number '%s'", digits)
		}
		text = text[len(digits):]
		name := python.Prefix(text, IsLetter)
		text = text[len(name):]
		u, err := ParseUnit(name)
		if err != nil {
			return 0, err
		}
		if total += sign * n * int64(u); total > MaxOffset || total < -MaxOffset {
			return 0, fmt.Errorf("offset of more than %d seconds", MaxOffset)
		}
	}
	return total, nil
}

// MaxOffset is a thousand years; numbers below it times any unit stay within 64 bits.
const MaxOffset = 1000 * int64(Year)

// IsLetter reports whether a byte is a letter of ASCII.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
