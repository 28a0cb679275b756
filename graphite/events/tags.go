package events

import (
	"slices"
	"strings"
)

// A Set is which of several tags an event must have.
type Set int

// The sets of graphite-web's parameter set.
const (
	// Known are all tags that any event has; those that none has are passed over, unless they are all.
	Known Set = iota
	// Union is any of the tags.
	Union
	// Intersection is all tags, also as they are shown.
	Intersection
)

// ParseSet returns the set of a text; one that is not known is none.
func ParseSet(text string) Set {
	switch text {
	case "union":
		return Union
	case "intersection":
		return Intersection
	}
	return Known
}

// labels returns the tags that searches compare, by django-tagging's rules (parse_tag_input): quoted
// text is one tag; commas separate tags where there are any outside of quotes, else blanks do.
func labels(text string) []string {
	var found, loose []string
	comma := false
	for text != "" {
		before, after, _ := strings.Cut(text, `"`)
		quoted, rest, closed := strings.Cut(after, `"`)
		if !closed { // a quote without its other is passed over, and what follows it not quoted
			if len(before) < len(text) {
				loose = append(loose, before, after)
			} else {
				loose = append(loose, before)
			}
			comma = comma || strings.Contains(text, ",")
			break
		}
		loose, comma = append(loose, before), comma || strings.Contains(before, ",")
		if quoted = strings.TrimSpace(quoted); quoted != "" {
			found = append(found, quoted)
		}
		text = rest
	}
	separator := " "
	if comma {
		separator = ","
	}
	for _, chunk := range loose {
		for word := range strings.SplitSeq(chunk, separator) {
			if word = strings.TrimSpace(word); word != "" {
				found = append(found, word)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// matches reports whether an event has tags. For Known they are those that any event has.
func (e *Event) matches(set Set, tags []string) bool {
	have := labels(e.Tags)
	has := func(tag string) bool { return slices.Contains(have, tag) }
	if set == Union {
		return slices.ContainsFunc(tags, has)
	}
	for _, tag := range tags {
		if !has(tag) {
			return false
		}
	}
	if set != Intersection {
		return true
	}
	shown := e.Words()
	for i, tag := range tags { // graphite-web counts a tag that is given twice, too
		if !slices.Contains(shown, tag) || slices.Contains(tags[:i], tag) {
			return false
		}
	}
	return true
}
