package query

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// ParseTime reads a time as a TSD does, in milliseconds since 1970: now, 1h-ago, 1356998400,
// 1356998400.500, 1356998400500, 1356998400500ms, 2013/01/01[-00:00[:00]] in the zone.
func ParseTime(text string, zone *time.Location, now time.Time) (int64, error) {
	lower := strings.ToLower(text)
	if ago, ok := strings.CutSuffix(lower, "-ago"); ok {
		d, err := aggregate.ParseDuration(ago)
		return now.UnixMilli() - d, err
	}
	switch {
	case lower == "now":
		return now.UnixMilli(), nil
	case strings.HasSuffix(text, "ms") && isDigits(text[:len(text)-2]):
		return parseLong(text[:len(text)-2])
	case strings.ContainsAny(text, "/:"):
		return parseDate(text, zone)
	case strings.Contains(text, "."):
		if !dottedMillis().MatchString(text) {
			return 0, fmt.Errorf("Invalid time: %s. Millisecond timestamps must be in the format <seconds>.<ms> where the milliseconds are limited to 3 digits", text)
		}
		return parseLong(strings.Replace(text, ".", "", 1))
	}
	t, err := parseLong(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("Invalid time: %s. %w", text, err)
	case t < 0:
		return 0, fmt.Errorf("Invalid time: %s. Negative timestamps are not supported.", text)
	case len(text) <= 10:
		t *= 1000
	}
	return t, nil
}

func dottedMillis() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{10}\.[0-9]{1,3}$`) }

// IsDate reports whether a time is a date, whose meaning depends on the time zone.
func IsDate(s string) bool { return strings.ContainsAny(s, "/:") }

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// parseLong reads an integer; its errors are those of OpenTSDB's Tags.parseLong.
func parseLong(s string) (int64, error) {
	digits := strings.TrimLeft(s, "+-")
	switch {
	case s == "":
		return 0, errors.New("Empty string")
	case len(s)-len(digits) > 1 || digits == "":
		return 0, fmt.Errorf("Just a sign, no value: %s", s)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("Invalid character '%c' in %s", c, s)
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Overflow in %s", s)
	}
	return n, nil
}

// parseDate reads a date. Fields beyond their range roll over into the next one, as Java's do.
func parseDate(text string, zone *time.Location) (int64, error) {
	if len(text) != 10 && len(text) != 16 && len(text) != 19 {
		return 0, fmt.Errorf("Invalid absolute date: %s", text)
	}
	separator := byte(' ')
	if strings.Contains(text, "-") {
		separator = '-'
	}
	pattern := "dddd/dd/dd" + string(separator) + "dd:dd:dd"
	var fields []int
	n := 0
	for i := range len(text) {
		if pattern[i] != 'd' {
			if text[i] != pattern[i] {
				return 0, unparseable(text)
			}
			fields, n = append(fields, n), 0
			continue
		}
		if text[i] < '0' || text[i] > '9' {
			return 0, unparseable(text)
		}
		n = 10*n + int(text[i]-'0')
	}
	fields = append(append(fields, n), 0, 0, 0)
	return time.Date(fields[0], time.Month(fields[1]), fields[2], fields[3], fields[4], fields[5], 0, zone).UnixMilli(), nil
}

func unparseable(text string) error {
	return fmt.Errorf("Invalid date: %s. Unparseable date: %q", text, text)
}
