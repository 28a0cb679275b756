package translate

import "strings"

// E, the escape of Prometheus' example adapter (documentation/examples/remote_storage,
// opentsdb/tagvalue.go), byte by byte over the UTF-8 text: "-./", digits and ASCII letters stay,
// "_" becomes "__", ":" becomes "_.", and any other byte "_" and its two upper-case hex digits. The
// adapter left out a leading zero, so that its own decoder misreads the bytes 00 to 0F; ours is the
// same for all other text, and its decoder reads ours.
//
// L, literal first: text that OpenTSDB allows is stored as it is, anything else as "_-" and its E.
// Text that itself begins with "_-" counts as anything else. Metric names are escaped element by
// element, see metric.go.
const literalPrefix = "_-"

// How E writes ":". The "." of the first form would cut an element of a metric in two, for trees
// and for us.
const (
	colon        = "_."
	elementColon = "_3A"
)

const upperHex = "0123456789ABCDEF"

// escape is E.
func escape(s string) string { return escapeWith(s, colon) }

func escapeWith(s, colon string) string {
	n := 0
	for i := range len(s) {
		n += escapedWidth(s[i])
	}
	if n == len(s) {
		return s
	}
	return prefixed("", s, colon, n)
}

// prefixed returns a prefix and the escape of s, which takes n bytes or somewhat more.
func prefixed(prefix, s, colon string, n int) string {
	var b strings.Builder
	b.Grow(len(prefix) + n)
	b.WriteString(prefix)
	for i := range len(s) {
		switch c := s[i]; {
		case isPlain(c):
			b.WriteByte(c)
		case c == '_':
			b.WriteString("__")
		case c == ':':
			b.WriteString(colon)
		default:
			b.WriteByte('_')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func escapedWidth(c byte) int {
	switch {
	case isPlain(c):
		return 1
	case c == '_', c == ':':
		return 2
	}
	return 3
}

// unescape is the inverse of E, strictly: false for text that E never yields.
func unescape(s string) (string, bool) { return unescapeWith(s, colon) }

func unescapeWith(s, colon string) (string, bool) {
	i := strings.IndexByte(s, '_')
	if i < 0 {
		return s, allPlain(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i = 0; i < len(s); {
		if isPlain(s[i]) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c, width := token(s[i:], colon)
		if width == 0 {
			return "", false
		}
		b.WriteByte(c)
		i += width
	}
	return b.String(), true
}

// token reads the escaped byte at the start of s; width is 0 if there is none.
func token(s, colon string) (c byte, width int) {
	switch {
	case len(s) < 2 || s[0] != '_':
		return 0, 0
	case s[1] == '_':
		return '_', 2
	case strings.HasPrefix(s, colon):
		return ':', len(colon)
	case len(s) < 3:
		return 0, 0
	}
	high, low := strings.IndexByte(upperHex, s[1]), strings.IndexByte(upperHex, s[2])
	if high < 0 || low < 0 {
		return 0, 0
	}
	if c = byte(high<<4 | low); escapedWidth(c) != 3 {
		return 0, 0
	}
	return c, 3
}

// escapeLiteral is L. The empty string has no L.
func escapeLiteral(s string) string {
	if isLiteral(s) {
		return s
	}
	return prefixed(literalPrefix, s, colon, 2*len(s)) // few bytes take three
}

// unescapeLiteral returns what a stored string shows as: the inverse of L, or the string itself.
func unescapeLiteral(stored string) string {
	rest, ok := strings.CutPrefix(stored, literalPrefix)
	if !ok {
		return stored
	}
	s, ok := unescape(rest)
	if !ok || s == "" || isLiteral(s) {
		return stored
	}
	return s
}

// isLiteral reports whether L leaves s as it is.
func isLiteral(s string) bool {
	return isLegal(s) && !strings.HasPrefix(s, literalPrefix)
}

// isLegal reports whether s consists of the ASCII characters of OpenTSDB 2.4 Tags.validateString.
// It also allows what Java takes for a letter, of which tables keep U+00FF and below; those we
// escape.
func isLegal(s string) bool {
	for i := range len(s) {
		if !isPlain(s[i]) && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

func allPlain(s string) bool {
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}

// isPlain reports whether E leaves the byte as it is.
func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '-' <= c && c <= '9'
}
