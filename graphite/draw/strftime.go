package draw

import (
	"strconv"
	"strings"
	"time"
)

// layouts are the letters of strftime that are one layout of Go each.
func layouts() map[byte]string {
	return map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06", 'e': "_2",
		'F': "2006-01-02", 'H': "15", 'I': "03", 'm': "01", 'M': "04", 'n': "\n", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05",
		't': "\t", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
	}
}

// strftime writes a time in a format of C. A letter that it does not know stays as it is. A minus before
// a letter leaves out leading zeros.
func strftime(t time.Time, format string) string {
	known := layouts()
	var out strings.Builder
	for {
		before, after, found := strings.Cut(format, "%")
		out.WriteString(before)
		if !found || after == "" {
			return out.String()
		}
		bare := after[0] == '-' && len(after) > 1
		if bare {
			after = after[1:]
		}
		letter := after[0]
		format = after[1:]
		text, ok := known[letter]
		if ok {
			text = t.Format(text)
		} else {
			text = computed(t, letter)
		}
		if bare {
			text = strings.TrimLeft(text, "0 ")
		}
		out.WriteString(text)
	}
}

// computed writes what Go has no layout for.
func computed(t time.Time, letter byte) string {
	padded := func(n, width int, with string) string {
		s := strconv.Itoa(n)
		return strings.Repeat(with, max(width-len(s), 0)) + s
	}
	twelve := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	weekday := int(t.Weekday())
	switch letter {
	case '%':
		return "%"
	case 'C':
		return padded(t.Year()/100, 2, "0")
	case 'f':
		return "000000"
	case 'G':
		return strconv.Itoa(isoYear)
	case 'g':
		return padded(isoYear%100, 2, "0")
	case 'V':
		return padded(isoWeek, 2, "0")
	case 'j':
		return padded(t.YearDay(), 3, "0")
	case 'k':
		return padded(t.Hour(), 2, " ")
	case 'l':
		return padded(twelve, 2, " ")
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'u':
		return strconv.Itoa((weekday+6)%7 + 1)
	case 'U':
		return padded((t.YearDay()+6-weekday)/7, 2, "0")
	case 'w':
		return strconv.Itoa(weekday)
	case 'W':
		return padded((t.YearDay()+6-(weekday+6)%7)/7, 2, "0")
	}
	return "%" + string(letter)
}
