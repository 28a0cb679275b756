package aggregate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseDuration reads 10s, 5m, 1h…: digits and ms, s, m, h, d, w, n (30 days) or y (365 days). It
// returns milliseconds; errors are in a TSD's words.
func ParseDuration(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("Cannot parse null or empty duration")
	}
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if digits == len(text) {
		return 0, fmt.Errorf("Invalid duration, must have an integer and unit: %s", text)
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Invalid duration (number): %s", text)
	}
	if n <= 0 {
		return 0, fmt.Errorf("Zero or negative duration: %s", text)
	}
	unit, ok := unitOf(text)
	if !ok {
		return 0, fmt.Errorf("Invalid duration (suffix): %s", text)
	}
	if float64(n)*float64(unit) > math.MaxInt64 {
		return 0, fmt.Errorf("Duration must be < Long.MAX_VALUE ms: %s", text)
	}
	return n * unit, nil
}

// unitOf returns the milliseconds of a duration's last letter. As with a TSD, what stands between
// the digits and that letter does not matter, but for the m of ms.
func unitOf(text string) (int64, bool) {
	const second = 1000
	switch text[len(text)-1] | 0x20 {
	case 's':
		if text[len(text)-2] == 'm' {
			return 1, true
		}
		return second, true
	case 'm':
		return 60 * second, true
	case 'h':
		return 3600 * second, true
	case 'd':
		return 24 * 3600 * second, true
	case 'w':
		return 7 * 24 * 3600 * second, true
	case 'n':
		return 30 * 24 * 3600 * second, true
	case 'y':
		return 365 * 24 * 3600 * second, true
	}
	return 0, false
}

// calendarUnits splits a duration into its number and a unit of calendars.
func calendarUnits(text string) (n int, unit string, err error) {
	lower := strings.ToLower(text)
	digits := len(lower) - 1
	if strings.Contains(lower, "ms") {
		digits--
	}
	n, err = strconv.Atoi(lower[:digits])
	if err != nil {
		return 0, "", fmt.Errorf("For input string: %q", text[:digits])
	}
	return n, lower[digits:], nil
}
