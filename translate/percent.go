package translate

import (
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A part is what a text is in a Graphite name.
type part int

const (
	partName part = iota
	partKey
	partValue
)

// escapePart writes a metric name, key or value of a name that begins with "~": %HH, in upper case,
// for each byte that would mean something where it stands, and for those that are no UTF-8. Other
// text stays, spaces among it.
func escapePart(s string, p part) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		switch c := s[i]; {
		case r == utf8.RuneError && width == 1, strings.IndexByte("%;{~", c) >= 0, needsPercent(s, i, p):
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
			i++
		default:
			b.WriteString(s[i : i+width])
			i += width
		}
	}
	return b.String()
}

// needsPercent reports whether s[i] has to be escaped in that part alone. A "{" is escaped in all
// of them: there is no OpenMetrics spelling without one.
func needsPercent(s string, i int, p part) bool {
	switch p {
	case partName: // a slash, and a dot next to an empty element
		return s[i] == '/' || s[i] == '.' && (i == 0 || i == len(s)-1 || s[i-1] == '.')
	case partKey:
		return strings.IndexByte("!^=", s[i]) >= 0 || i == 0 && s == nameTag
	}
	return false
}

// resolveAll resolves the escapes of a name and its tags; false if a key turns out to be that of
// the metric name.
func resolveAll(name string, tags []storage.Tag) (string, []storage.Tag, bool) {
	for i, tag := range tags {
		tags[i] = storage.Tag{Key: resolve(tag.Key), Value: resolve(tag.Value)}
		if tags[i].Key == nameLabel {
			return "", nil, false
		}
	}
	return resolve(name), tags, true
}

// resolve is the inverse of escapePart. A "%" that no two hex digits follow is itself.
func resolve(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if high, low := hexAt(s, i+1), hexAt(s, i+2); s[i] == '%' && high >= 0 && low >= 0 {
			b.WriteByte(byte(high<<4 | low))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hexAt returns the value of the hex digit at s[i], in either case; -1 if there is none.
func hexAt(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch c := s[i]; {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
