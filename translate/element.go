package translate

import "strings"

// A metric name is a path of elements between dots, of which a name without dots has one. L is
// applied to each of them, so that one odd character leaves the others as they are, and so that who
// cuts a stored metric at its dots, as a rule of a tree does, has the elements. An empty element
// stays empty, and ":" is "_3A" (see elementColon): E's "_." would be cut.
const separator = "."

// escapeElements returns the literal form of a metric name. The empty string has none.
func escapeElements(name string) string {
	if isLiteral(name) && !strings.Contains(name, separator+literalPrefix) {
		return name
	}
	return eachElement(name, escapeElement)
}

// eachElement returns a name with each of its elements replaced.
func eachElement(name string, replace func(string) string) string {
	var b strings.Builder
	b.Grow(len(name) + len(name)/4)
	for {
		element, rest, more := strings.Cut(name, separator)
		b.WriteString(replace(element))
		if !more {
			return b.String()
		}
		b.WriteString(separator)
		name = rest
	}
}

// escapeElement returns the stored form of an element of a metric name.
func escapeElement(element string) string {
	if element == "" || isLiteral(element) {
		return element
	}
	return literalPrefix + escapeWith(element, elementColon)
}

// showElements returns what the elements of a stored metric show as.
func showElements(stored string) string {
	if !strings.Contains(stored, literalPrefix) {
		return stored
	}
	return eachElement(stored, unescapeElement)
}

// unescapeElement returns what a stored element shows as: the inverse of escapeElement, or the
// element itself.
func unescapeElement(stored string) string {
	rest, ok := strings.CutPrefix(stored, literalPrefix)
	if !ok {
		return stored
	}
	element, ok := unescapeWith(rest, elementColon)
	if !ok || element == "" || isLiteral(element) {
		return stored
	}
	return element
}

// Shown returns the name of a branch or a leaf of a tree, which is stored text, as people wrote it.
// It is told neither whether that was a metric, an element of one or a tag's value, nor under which
// rules: text that could be the L of more than one thing shows as a value before it shows as a
// metric.
func Shown(stored string) string {
	if text := unescapeLiteral(stored); text != stored {
		return text
	}
	return showElements(stored)
}
