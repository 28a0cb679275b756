package exchange

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // tz= must mean the same wherever the process runs

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// Integer is int(value) of Python, by the rules and with the words of queryParamAsInt in
// graphite-web's metrics/views.py.
func (f Form) Integer(key string, otherwise int) (int, error) {
	if !f.Has(key) {
		return otherwise, nil
	}
	n, err := PythonInt(f.Get(key))
	if err != nil {
		return 0, InvalidParams("Invalid int value %s for param %s: %s", Quoted(f.Get(key)), key, ReasonOf(err))
	}
	return n, nil
}

// PythonInt is int(text).
func PythonInt(text string) (int, error) {
	s := strings.TrimSpace(text)
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) <= 1 && !strings.HasPrefix(digits, "_") && !strings.HasSuffix(digits, "_") && !strings.Contains(digits, "__") {
		if n, err := strconv.Atoi(strings.ReplaceAll(s, "_", "")); err == nil {
			return n, nil
		}
	}
	return 0, InvalidParams("invalid literal for int() with base 10: %s", Quoted(text))
}

// Quoted is repr(text).
func Quoted(text string) string {
	quote := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	out := []byte{quote}
	for _, c := range python.Excerpt(text, 200) {
		switch {
		case c == rune(quote) || c == '\\':
			out = append(out, '\\', byte(c))
		case strconv.IsPrint(c):
			out = append(out, string(c)...)
		default:
			escaped := strconv.QuoteRune(c)
			out = append(out, escaped[1:len(escaped)-1]...)
		}
	}
	return string(append(out, quote))
}

// Zone returns the zone of times in a request. An unknown one is none.
func (f Form) Zone(otherwise *time.Location) *time.Location {
	name := f.Get("tz")
	if name == "" || name == "Local" {
		return otherwise
	}
	if strings.EqualFold(name, "utc") {
		return time.UTC
	}
	for _, spelled := range [...]string{name, zoneCase(name)} {
		if zone, err := time.LoadLocation(spelled); err == nil {
			return zone
		}
	}
	return otherwise
}

// zoneCase spells a zone as most are: graphite-web takes them in any case.
func zoneCase(name string) string {
	b, begin := []byte(strings.ToLower(name)), true
	for i, c := range b {
		if begin && 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		begin = c == '/' || c == '_' || c == '-'
	}
	return string(b)
}

// Time returns a time of a request; a parameter that is there but empty is now.
func (f Form) Time(key, otherwise string, zone *time.Location, now time.Time) (time.Time, error) {
	text := otherwise
	if f.Has(key) {
		text = f.Get(key)
	}
	return timespec.ParseTime(text, zone, now)
}

// longestJSONP bounds the name of a function.
const longestJSONP = 1000

// JSONP returns how the call begins that JSON is to be the argument of: the function of jsonp= and a
// bracket, which stands alone when the name is empty. Without jsonp it returns nothing.
func (f Form) JSONP() (string, error) {
	if !f.Has("jsonp") {
		return "", nil
	}
	name := f.Get("jsonp")
	if len(name) > longestJSONP {
		return "", InvalidParams("jsonp is longer than %d bytes", longestJSONP)
	}
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("_$.[]", c) {
			return "", InvalidParams("jsonp is no name of a function: %s", Quoted(name))
		}
	}
	return name + "(", nil
}

// Pretty reports whether JSON is to be indented.
func (f Form) Pretty() bool { return f.Get("pretty") != "" }
