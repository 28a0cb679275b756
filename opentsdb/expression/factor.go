package expression

import (
	"math"
	"strconv"
	"strings"
)

// parseFactor reads digits, dots and signs that are a number.
func parseFactor(text string) (float64, error) {
	if strings.Trim(text, "-0123456789.") != "" {
		return 0, refused("Unparseable scale factor value: 0.0")
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(factor, 0) {
		return 0, refused("Invalid parameter, must be an integer or floating point")
	}
	return factor, nil
}

// parseCount reads the digits of how many lines are wanted.
func parseCount(params []string) (int, error) {
	if len(params) == 0 {
		return 0, refused("Need aggregation window for moving average") // the words of both functions
	}
	text := params[0]
	if strings.Trim(text, "0123456789") != "" {
		return 0, refused("Unparseable top n value: %s", text)
	}
	n, err := parseInt(text)
	switch {
	case err != nil:
		return 0, refused("Invalid parameter, must be an integer")
	case n < 1:
		return 0, refused("Top n value must be greater than zero: %d", n)
	}
	return int(n), nil
}

// A window is how many points a moving average has, or how much time.
type window struct {
	size  int64 // points or milliseconds
	timed bool
}

// parseWindow reads a number of points, or a time in quotes.
func parseWindow(params []string) (w window, err error) {
	if len(params) == 0 {
		return w, refused("Missing moving average window size")
	}
	text := params[0]
	switch {
	case strings.Trim(text, "0123456789") == "":
		if w.size, err = parseInt(text); err != nil {
			return w, refused("Invalid parameter, must be an integer")
		}
	case strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'"):
		w.timed = true
		if w.size, err = parseTime(text); err != nil {
			return w, err
		}
	default:
		return w, refused("Unparseable window size: %s", text)
	}
	if w.size <= 0 {
		return w, refused("Moving average window must be an integer greater than zero")
	}
	return w, nil
}

// parseTime reads a number and a unit, in quotes.
func parseTime(text string) (int64, error) {
	digits := leadingDigits(text[1:])
	if digits == 0 {
		return 0, refused("Invalid moving window parameter: %s", text)
	}
	n, err := parseInt(text[1 : 1+digits])
	if err != nil {
		return 0, refused("Unable to parse moving window parameter: %s", text)
	}
	units := map[string]int64{
		"day": 86_400_000, "d": 86_400_000, "hr": 3_600_000, "hour": 3_600_000, "h": 3_600_000,
		"min": 60_000, "m": 60_000, "sec": 1000, "s": 1000,
	}
	unit := text[1+digits : len(text)-1]
	if units[unit] == 0 {
		return 0, refused("Unknown time unit=%s in window=%s", unit, text)
	}
	return n * units[unit], nil
}
