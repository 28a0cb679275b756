package translate

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// FromShown returns the series of a metric and tag values as people write them. Tag keys are stored
// ones.
func (t *Translator) FromShown(shown storage.Series) storage.Series {
	b := labels.NewScratchBuilder(len(shown.Tags) + 1)
	b.Add(nameLabel, shown.Metric)
	for _, tag := range shown.Tags {
		key, ok := t.Label(tag.Key)
		if !ok {
			key = tag.Key
		}
		b.Add(key, tag.Value)
	}
	b.Sort()
	return t.FromLabels(b.Labels())
}

// RestOf returns the labels of a series as tags, without the metric's name and without those whose
// tag keys are in shown.
func (t *Translator) RestOf(s storage.Series, shown map[string]bool) []storage.Tag {
	var tags []storage.Tag
	t.ToLabels(s).Range(func(l labels.Label) {
		if l.Name != nameLabel && !shown[t.TagKey(l.Name)] {
			tags = append(tags, storage.Tag{Key: l.Name, Value: l.Value})
		}
	})
	return tags
}
