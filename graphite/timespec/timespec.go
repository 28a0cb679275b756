package timespec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// ParseTime reads Graphite's time grammar (graphite-web's attime.py, at(1)'s descendant): epoch
// seconds, or a reference such as `noon yesterday`, `20250304`, `monday` or nothing, and an offset
// such as `-1h`. References are in loc, relative to now. The result is in loc.
func ParseTime(text string, loc *time.Location, now time.Time) (time.Time, error) {
	s := strings.NewReplacer("_", "", ",", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(text)))
	if isNumber(s) && !isDate(s) {
		return parseEpoch(s, loc)
	}
	reference, offset := s, ""
	if i := strings.IndexByte(s, '+'); i >= 0 {
		reference, offset = s[:i], s[i:]
	} else if i := strings.IndexByte(s, '-'); i >= 0 {
		reference, offset = s[:i], s[i:]
	}
	at, err := parseReference(reference, loc, now.In(loc))
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := ParseOffset(offset)
	if err != nil {
		return time.Time{}, err
	}
	// A Duration ends at 292 years.
	return time.Unix(at.Unix()+seconds, int64(at.Nanosecond())).In(loc), nil
}

func isNumber(s string) bool { return s != "" && python.Prefix(s, python.IsDigit) == s }

// isDate tells YYYYMMDD from an epoch second of 1970.
func isDate(s string) bool {
	return len(s) == 8 && s[:4] > "1900" && s[4:6] < "13" && s[6:] < "32"
}

func parseEpoch(s string, loc *time.Location) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 1<<50 {
		return time.Time{}, fmt.Errorf("time %.40s is out of range", s)
	}
	if n >= 253402300800 { // Python's years end with 9999.
		return time.Time{}, fmt.Errorf("year %d is out of range", time.Unix(n, 0).UTC().Year())
	}
	return time.Unix(n, 0).In(loc), nil
}

// parseReference is an optional time of day and an optional day.
func parseReference(s string, loc *time.Location, now time.Time) (time.Time, error) {
	if s == "" || s == "now" {
		return now, nil
	}
	hour, minute, rest, err := timeOfDay(s)
	if err != nil {
		return time.Time{}, err
	}
	if hour > 23 || minute > 59 {
		return time.Time{}, errors.New("hour must be in 0..23 and minute in 0..59")
	}
	y, m, d, err := dayReference(rest, s, now)
	if err != nil {
		return time.Time{}, err
	}
	if t := time.Date(y, m, d, 0, 0, 0, 0, time.UTC); t.Day() != d || t.Month() != m {
		return time.Time{}, errors.New("day is out of range for month")
	}
	return localize(y, m, d, hour, minute, loc), nil
}

// localize is pytz's: a wall clock time that a change of zone makes ambiguous is standard time, and
// one that it leaves out is counted in standard time too.
func localize(y int, m time.Month, d, hour, minute int, loc *time.Location) time.Time {
	wall := time.Date(y, m, d, hour, minute, 0, 0, time.UTC).Unix()
	offsetAt := func(unix int64) int64 {
		_, offset := time.Unix(unix, 0).In(loc).Zone()
		return int64(offset)
	}
	before, after := offsetAt(wall-int64(Day)), offsetAt(wall+int64(Day))
	standard, summer := min(before, after), max(before, after)
	if offsetAt(wall-standard) != standard && offsetAt(wall-summer) == summer {
		return time.Unix(wall-summer, 0).In(loc)
	}
	return time.Unix(wall-standard, 0).In(loc)
}

// timeOfDay reads what stands at the front: 16:20, 4:20pm, 9am, noon, midnight, teatime. `12pm` is
// midnight.
func timeOfDay(s string) (hour, minute int, rest string, err error) {
	if i := strings.IndexByte(s, ':'); i == 1 || i == 2 {
		if hour, err = strconv.Atoi(s[:i]); err != nil {
			return 0, 0, "", fmt.Errorf("invalid hour %q", s[:i])
		}
		end := min(i+3, len(s))
		if minute, err = strconv.Atoi(s[i+1 : end]); err != nil {
			return 0, 0, "", fmt.Errorf("invalid minute %q", s[i+1:end])
		}
		s = s[end:]
		if after, ok := strings.CutPrefix(s, "am"); ok {
			s = after
		} else if after, ok := strings.CutPrefix(s, "pm"); ok {
			hour, s = (hour+12)%24, after
		}
	}
	for _, half := range [...]struct {
		name string
		add  int
	}{{"am", 0}, {"pm", 12}} {
		if i := strings.Index(s, half.name); i == 1 || i == 2 {
			if hour, err = strconv.Atoi(s[:i]); err != nil {
				return 0, 0, "", fmt.Errorf("invalid hour %q", s[:i])
			}
			if s = s[i+2:]; half.add > 0 {
				hour = (hour + half.add) % 24
			}
		}
	}
	for _, named := range [...]struct {
		name string
		hour int
	}{{"noon", 12}, {"midnight", 0}, {"teatime", 16}} {
		if after, ok := strings.CutPrefix(s, named.name); ok {
			return named.hour, 0, after, nil
		}
	}
	return hour, minute, s, nil
}

// dayReference reads a day; nothing is today. whole is the reference for the error.
func dayReference(s, whole string, now time.Time) (int, time.Month, int, error) {
	switch {
	case s == "" || s == "today":
		y, m, d := now.Date()
		return y, m, d, nil
	case s == "yesterday":
		return shifted(now, -1)
	case s == "tomorrow":
		return shifted(now, 1)
	case strings.Count(s, "/") == 2:
		return slashDate(s)
	case len(s) == 8 && isNumber(s):
		y, m, d := atoi(s[:4]), atoi(s[4:6]), atoi(s[6:])
		return y, time.Month(m), d, checkDate(y, m)
	}
	if m := slices.Index(monthNames(), s[:min(3, len(s))]); m >= 0 {
		d, err := trailingDay(s)
		return now.Year(), time.Month(m + 1), d, err
	}
	if d := slices.Index(dayNames(), s[:min(3, len(s))]); d >= 0 {
		return shifted(now, -(int(now.Weekday())-d+7)%7)
	}
	return 0, 0, 0, fmt.Errorf("Unknown day reference: %s", whole) //nolint:staticcheck // graphite-web's words.
}

func monthNames() []string {
	return []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
}

func dayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

func shifted(now time.Time, days int) (int, time.Month, int, error) {
	y, m, d := now.Date()
	y, m, d = time.Date(y, m, d+days, 0, 0, 0, 0, time.UTC).Date()
	return y, m, d, nil
}

// slashDate is MM/DD/YY or MM/DD/YYYY; years of two digits are 1970 to 2069.
func slashDate(s string) (int, time.Month, int, error) {
	var part [3]int
	for i, p := range strings.Split(s, "/") {
		n, err := strconv.Atoi(p)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("invalid date %q", s)
		}
		part[i] = n
	}
	m, d, y := part[0], part[1], part[2]
	if y < 1900 {
		y += 1900
	}
	if y < 1970 {
		y += 100
	}
	return y, time.Month(m), d, checkDate(y, m)
}

func checkDate(y, m int) error {
	if m < 1 || m > 12 {
		return errors.New("month must be in 1..12")
	}
	if y < 1 || y > 9999 {
		return fmt.Errorf("year %d is out of range", y)
	}
	return nil
}

// trailingDay is the day after a month's name: jan5, january 31.
func trailingDay(s string) (int, error) {
	for n := 2; n > 0; n-- {
		if len(s) >= n && isNumber(s[len(s)-n:]) {
			return atoi(s[len(s)-n:]), nil
		}
	}
	return 0, errors.New("Day of month required after month name") //nolint:staticcheck // graphite-web's words.
}

// atoi is for texts known to be digits.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
