package translate

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Condition restricts one label of a series, the metric name being the label __name__. It holds
// if the label's value, "" where the series lacks the label, is one of Values, or, when Values is
// nil, if Match accepts it. Match is called from many goroutines, and for values that no series
// has; nil accepts every value.
type Condition struct {
	Label  string
	Values []string
	Match  func(value string) bool
}

// ConditionFilters returns a prefilter: every series whose ToLabels satisfies all conditions passes
// all filters. Like that of Filters it may let others pass.
func (t *Translator) ConditionFilters(conditions []Condition) []storage.Filter {
	var filters []storage.Filter
	for _, c := range conditions {
		filters = t.appendFilter(filters, c.Label, c.accepted())
	}
	return filters
}

func (c Condition) accepted() accepted {
	switch {
	case c.Values != nil:
		return accepted{finite: true, values: c.Values, matches: func(value string) bool { return slices.Contains(c.Values, value) }}
	case c.Match == nil:
		return accepted{any: true, matches: func(string) bool { return true }}
	}
	return accepted{matches: c.Match}
}

func (t *Translator) appendFilter(filters []storage.Filter, label string, a accepted) []storage.Filter {
	switch {
	case a.any && a.matches(""):
		return filters
	case label == nameLabel:
		return append(filters, t.metricFilter(a))
	}
	return append(filters, t.tagFilter(label, a))
}

// metricFilter accepts longMetric, whose names are in the tags, unless it looks for names that are
// not so long.
func (t *Translator) metricFilter(a accepted) storage.Filter {
	if !a.finite {
		return storage.Filter{Match: func(metric string) bool {
			name, _ := t.name(metric)
			return metric == longMetric || a.matches(name)
		}}
	}
	metrics := []string{}
	for _, name := range a.values {
		metrics = append(metrics, t.MetricName(name))
		if shown, _ := t.name(name); shown == name && isStorable(name) {
			metrics = append(metrics, name)
		}
	}
	return storage.Filter{Values: sortedSet(metrics)}
}

// tagFilter lets every series with packed labels pass.
func (t *Translator) tagFilter(label string, a accepted) storage.Filter {
	f := storage.Filter{Absent: a.matches("")}
	f.Keys, f.Or = keysOf(label)
	switch {
	case a.finite:
		f.Values = t.tagValues(a.values)
	case !a.any:
		f.Match = t.modes.triesModes(a.matches)
	}
	return f
}

// triesModes returns a function that tries a stored value in every mode.
func (m *modes) triesModes(matches func(string) bool) func(string) bool {
	return func(stored string) bool {
		return matches(Literal.labelValue(stored)) || m.compat && matches(Compat.labelValue(stored))
	}
}
