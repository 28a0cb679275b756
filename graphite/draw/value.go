package draw

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A value is the text of an option. graphite-web reads most options by what their text looks like: digits
// are a number, true and false are truths, and default and nothing are as if the option were not there.
type value string

func (v value) absent() bool { return v == "" || strings.EqualFold(string(v), "default") }

var errNoNumber = errors.New("is no number")

// number is a number of at most largest; a truth is 1 or 0.
func (v value) number() (float64, error) {
	switch {
	case strings.EqualFold(string(v), "true"):
		return 1, nil
	case strings.EqualFold(string(v), "false"):
		return 0, nil
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(string(v)), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > largest || strings.ContainsAny(string(v), "xX_pP") {
		return 0, errNoNumber
	}
	return f, nil
}

// truth is Python's: 0 and false are not true, anything else is.
func (v value) truth() bool {
	f, err := v.number()
	return err != nil || f != 0
}

// unquoted is Python's unquote_plus: some texts of requests are quoted twice.
func unquoted(text string) string {
	if !strings.ContainsAny(text, "%+") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '+':
			out = append(out, ' ')
		case c == '%' && i+2 < len(text):
			b, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil || text[i+1] == '+' || text[i+1] == '-' {
				out = append(out, c)
				continue
			}
			out = append(out, byte(b))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}
