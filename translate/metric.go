package translate

import "strings"

const (
	// nameLabel is the label that holds the metric name.
	nameLabel = "__name__"
	// noMetric is the metric of series without a name: no name is stored as the bare prefix.
	noMetric = literalPrefix
	// longMetric is the metric of series whose name is packed. E has no token "_/".
	longMetric = literalPrefix + packSeparator
)

// metric returns the stored metric of a name and the mode of its series' values.
func (t *Translator) metric(name string) (stored string, mode Mode) {
	mode = t.modes.mode(name)
	switch {
	case name == "":
		stored = noMetric
	case mode == Compat:
		stored = escape(name)
	case t.modes.isCompat(name):
		// A literal name that would be taken for another one's compat form.
		stored = literalPrefix + escape(name)
	default:
		stored = escapeElements(name)
	}
	if len(stored) > t.limits.length {
		return longMetric, Literal
	}
	return stored, mode
}

// isCompat reports whether a metric is the stored form of a compat name.
func (m *modes) isCompat(stored string) bool {
	if !m.compat {
		return false
	}
	name, ok := unescape(stored)
	return ok && m.mode(name) == Compat
}

// name is the inverse of metric, from the metric alone. A metric that no name is stored as is
// foreign: it shows as itself, and its values as literal ones, since no process that escaped values
// left such a metric.
func (t *Translator) name(stored string) (name string, mode Mode) {
	if stored == noMetric {
		return "", t.modes.mode("")
	}
	if !t.modes.compat && !strings.Contains(stored, literalPrefix) {
		return stored, Literal
	}
	if name := showElements(stored); name != "" {
		if own, mode := t.metric(name); own == stored {
			return name, mode
		}
	}
	if name, ok := unescape(strings.TrimPrefix(stored, literalPrefix)); ok {
		if own, mode := t.metric(name); own == stored {
			return name, mode
		}
	}
	return stored, Literal
}
