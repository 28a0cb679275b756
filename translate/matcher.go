package translate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Filters returns a prefilter: every series whose ToLabels satisfies all matchers passes all
// filters. What passes may not satisfy them (packed labels, series of different modes, foreign
// series), so the labels have to be checked. A matcher that accepts everything has no filter; one
// with finitely many values has Values, for look-ups in an index.
func (t *Translator) Filters(matchers []*labels.Matcher) []storage.Filter {
	var filters []storage.Filter
	for _, m := range matchers {
		filters = t.appendFilter(filters, m.Name, acceptedBy(m))
	}
	return filters
}

// keysOf returns the keys of which one is in every series that shows a label, and in no other, but
// for those that have a key of or, where it may be anything. There is always one of keys, since
// none means the metric.
func keysOf(label string) (keys, or []string) {
	keys, or = []string{PackedKey}, []string{PackedKey}
	if key := tagKey(label); isStorable(key) {
		keys[0] = key
	}
	if _, own := labelName(label); !own && isStorable(label) {
		// A foreign key of that name. A reserved one shows no label at all if it is ours.
		if reserved(label) {
			or = append(or, label)
		} else if label != keys[0] {
			keys = append(keys, label)
		}
	}
	// A foreign key whose own name was taken.
	for rest, ok := strings.CutPrefix(label, clashPrefix); ok; rest, ok = strings.CutPrefix(rest, clashPrefix) {
		if _, own := labelName(rest); !own && isStorable(rest) {
			or = append(or, rest)
		}
	}
	return sortedSet(keys), sortedSet(or)
}

// tagValues returns all stored values that show as one of the values, in any mode. It is not nil.
func (t *Translator) tagValues(values []string) []string {
	stored := []string{}
	for _, value := range values {
		if value == "" {
			continue
		}
		for _, c := range []string{escapeLiteral(value), escape(value), value} {
			if isStorable(c) && t.modes.shows(c, value) {
				stored = append(stored, c)
			}
		}
	}
	return sortedSet(stored)
}

// shows reports whether a stored value shows as value in any mode.
func (m *modes) shows(stored, value string) bool {
	return Literal.labelValue(stored) == value || m.compat && Compat.labelValue(stored) == value
}

// isStorable reports whether s may be the text of a stored name (see storage.Series).
func isStorable(s string) bool {
	if s == "" || !utf8.ValidString(s) || utf8.RuneCountInString(s) > storage.MaxNameLength {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r == 0 || r > 0xff })
}

func sortedSet(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
