package translate

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// FromLabels returns the series of a label set, whose names are sorted and distinct. Labels with an
// empty value are no labels. Names that need no escape share the memory of ls.
func (t *Translator) FromLabels(ls labels.Labels) storage.Series {
	pairs := make([]storage.Tag, 0, max(ls.Len(), 1))
	ls.Range(func(l labels.Label) { pairs = append(pairs, storage.Tag{Key: l.Name, Value: l.Value}) })
	return t.FromPairs(pairs)
}

// FromPairs is FromLabels of the labels that pairs are, whose memory, as far as its capacity,
// becomes the series'.
func (t *Translator) FromPairs(pairs []storage.Tag) storage.Series {
	var name string
	tags := pairs[:0]
	for _, l := range pairs {
		switch {
		case l.Value == "":
		case l.Key == nameLabel:
			name = l.Value
		default:
			tags = append(tags, l)
		}
	}
	metric, mode := t.metric(name)
	var packed []byte
	if metric == longMetric {
		packed = appendPair(packed, nameLabel, name)
	}
	tags, packed = t.encode(tags, mode, packed)
	tags = t.appendChunks(tags, packed)
	if len(tags) == 0 { // OpenTSDB's fsck stops at a row without tags.
		tags = append(tags, storage.Tag{Key: bareKey, Value: bareValue})
	}
	if !slices.IsSortedFunc(tags, byKey) {
		slices.SortFunc(tags, byKey)
	}
	return storage.Series{Metric: metric, Tags: tags}
}

// encode turns label pairs into tags, in place; those that cannot be tags are appended to packed.
func (t *Translator) encode(pairs []storage.Tag, mode Mode, packed []byte) ([]storage.Tag, []byte) {
	tags := pairs[:0]
	for _, pair := range pairs {
		key, value := tagKey(pair.Key), mode.tagValue(pair.Value)
		if key == "" || max(len(key), len(value)) > t.limits.length || len(tags) == t.limits.tags {
			packed = appendPair(packed, pair.Key, pair.Value)
			continue
		}
		tags = append(tags, storage.Tag{Key: key, Value: value})
	}
	return tags, packed
}

func byKey(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) }

// ToLabels returns the label set of a series: the one that FromLabels made it of, or for a foreign
// series one that shows each of its tags. Names are sorted and distinct, values not empty.
func (t *Translator) ToLabels(s storage.Series) labels.Labels {
	name, mode := t.name(s.Metric)
	b := labels.NewScratchBuilder(len(s.Tags) + 1)
	add(&b, nameLabel, name)
	if t.isBare(s, name) {
		return b.Labels()
	}
	for _, tag := range s.Tags {
		label, own := labelName(tag.Key)
		if !own {
			return t.unusualLabels(s)
		}
		add(&b, label, mode.labelValue(tag.Value))
	}
	b.Sort()
	return b.Labels()
}

// unusualLabels is ToLabels for series with tags that are reserved or foreign.
func (t *Translator) unusualLabels(s storage.Series) labels.Labels {
	if ls, ok := t.unpack(s); ok {
		return ls
	}
	name, mode := t.name(s.Metric)
	b := labels.NewScratchBuilder(len(s.Tags) + 1)
	add(&b, nameLabel, name)
	for i, label := range shownNames(s.Tags) {
		add(&b, label, mode.labelValue(s.Tags[i].Value))
	}
	b.Sort()
	return b.Labels()
}

// isBare reports whether a series is one of ours without labels but its name: longMetric never
// comes without packed tags.
func (t *Translator) isBare(s storage.Series, name string) bool {
	return len(s.Tags) == 1 && s.Tags[0] == storage.Tag{Key: bareKey, Value: bareValue} &&
		s.Metric != longMetric && s.Metric == t.MetricName(name)
}

// shownNames returns the label name of each tag. Our own have the first choice; a foreign key that
// finds its name taken gets prefixes until one is free.
func shownNames(tags []storage.Tag) []string {
	names, taken := make([]string, len(tags)), make(map[string]bool, len(tags))
	for i, tag := range tags {
		if name, own := labelName(tag.Key); own {
			names[i], taken[name] = name, true
		}
	}
	for i, tag := range tags {
		if _, own := labelName(tag.Key); own {
			continue
		}
		name := tag.Key
		for taken[name] || !showable(name) {
			name = clashPrefix + name
		}
		names[i], taken[name] = name, true
	}
	return names
}

func add(b *labels.ScratchBuilder, name, value string) {
	if value != "" {
		b.Add(name, value)
	}
}
