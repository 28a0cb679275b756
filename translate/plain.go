package translate

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// IsPlain reports whether a label set is nothing but a metric name: what Graphite knows as a path,
// and finds by no tag.
func IsPlain(ls labels.Labels) bool {
	named, others := false, false
	ls.Range(func(l labels.Label) {
		if l.Value != "" {
			named, others = named || l.Name == nameLabel, others || l.Name != nameLabel
		}
	})
	return named && !others
}

// Plain reports whether a series is stored as nothing but a metric. Its labels are plain then; the
// other way round, a name so long that it is packed is in the tags, and its series is not plain: in
// its metric there is nothing that a tree could show.
func (t *Translator) Plain(s storage.Series) bool {
	if name, ok := t.bare(s); ok {
		return name != ""
	}
	return len(s.Tags) == 1 && s.Tags[0].Key == bareKey && IsPlain(t.ToLabels(s))
}

// bare returns the name of a series that is stored as nothing but a name, or nothing at all: it
// needs no labels for that.
func (t *Translator) bare(s storage.Series) (name string, ok bool) {
	if len(s.Tags) != 1 || s.Tags[0].Key != bareKey {
		return "", false
	}
	name, _ = t.name(s.Metric)
	return name, t.isBare(s, name)
}
