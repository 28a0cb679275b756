package translate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// FromPath returns the series of a Graphite name: that of its labels.
func (t *Translator) FromPath(path string) storage.Series {
	s, _ := t.FromAnyPath(path)
	return s
}

// FromAnyPath is FromPath. ok is false for a name without labels.
func (t *Translator) FromAnyPath(path string) (s storage.Series, ok bool) {
	if isPath(path) && len(path) <= maxLabelLength { // most are, and need no labels
		name := canonical(path)
		return t.FromPairs([]storage.Tag{{Key: nameLabel, Value: name}}), name != ""
	}
	ls := PathLabels(path)
	return t.FromLabels(ls), !ls.IsEmpty()
}

// ToPath returns the Graphite name of a series: that of its labels. It is the inverse of FromPath.
func (t *Translator) ToPath(s storage.Series) string {
	if name, ok := t.bare(s); ok && isOwnPath(name) {
		return name
	}
	return LabelsPath(t.ToLabels(s))
}

// isOwnPath reports whether LabelsPath of a name alone is the name.
func isOwnPath(name string) bool {
	return name != "" && utf8.ValidString(name) && isPath(name) && isCanonical(name)
}

// PathLabels returns the labels of a Graphite name as carbon reads it (see tagged.go): the metric
// name, and one label a tag. Sorted, distinct, none of them empty. There is no name without labels
// but those that have nothing in them, like "..", and those of which a part is longer than a label
// may be (16 MiB).
//
//   - A name without tags is a path, whose elements "." or "/" separates, since carbon makes directories of both; empty
//     elements vanish.
//   - A name whose tags do not parse is, whole, the metric name: carbon logs the error and keeps the point under the
//     raw text.
//   - Of a name that begins with "~", which carbon strips, %HH stands for a byte (see LabelsPath).
func PathLabels(path string) labels.Labels {
	if isPath(path) {
		return withTags(canonical(path), nil)
	}
	if isOpenMetrics(path) {
		path = respell(path)
	}
	name, tags, ok := readTagged(path)
	if !ok {
		return withTags(path, nil)
	}
	return withTags(name, tags)
}

// LabelsPath is the inverse of PathLabels: it returns the canonical Graphite name of sorted labels
// with distinct names. Empty values are no labels.
//
// It is carbon's canonical spelling, the metric name and then ";key=value" sorted, wherever
// PathLabels reads the very same labels in it. The others are written with a leading "~" and with
// %HH for whatever has a meaning of its own: labels without a metric name, with one that is no
// canonical path, with a label called name, with characters that keys or values may not have, or
// that are no UTF-8. No series of carbon's has such a name, since it strips the "~".
func LabelsPath(ls labels.Labels) string {
	ls = ls.WithoutEmpty()
	path := spell(ls, verbatim)
	switch {
	case path == "", !utf8.ValidString(path): // The first cannot be asked for, and a reply in JSON cannot contain the second.
	case isSpelt(ls, path), labels.Equal(PathLabels(path), ls):
		return path
	}
	return tilde + spell(ls, escapePart)
}

// spell writes labels in carbon's order, which is that of the written tags.
func spell(ls labels.Labels, write func(s string, p part) string) string {
	var name string
	tags := make([]string, 0, ls.Len())
	ls.Range(func(l labels.Label) {
		if l.Name == nameLabel {
			name = write(l.Value, partName)
			return
		}
		tags = append(tags, tagSeparator+write(l.Name, partKey)+"="+write(l.Value, partValue))
	})
	if len(tags) == 0 {
		return name
	}
	slices.Sort(tags)
	return name + strings.Join(tags, "")
}

func verbatim(s string, _ part) string { return s }

// isSpelt reports whether carbon's spelling of labels is seen to be read as them. What keeps to no
// rule may be so all the same.
func isSpelt(ls labels.Labels, path string) bool {
	named, valid := false, true
	ls.Range(func(l labels.Label) {
		if l.Name == nameLabel {
			named = !strings.HasPrefix(l.Value, tilde) && !strings.Contains(l.Value, tagSeparator)
			return
		}
		valid = valid && l.Name != "" && l.Name != nameTag && checkTag(l.Name, l.Value)
	})
	return named && valid && (ls.Len() > 1 || isCanonical(path)) && !isOpenMetrics(path)
}

// isPath reports whether a name is one without tags, and without the signs of anything unusual.
func isPath(path string) bool {
	return !strings.HasPrefix(path, tilde) && !strings.Contains(path, tagSeparator) && !isOpenMetrics(path)
}

// canonical returns a path whose elements are separated by one dot each.
func canonical(path string) string {
	if isCanonical(path) {
		return path
	}
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '/' })
	return strings.Join(elements, separator)
}

func isCanonical(path string) bool {
	last := byte('.')
	for i := range len(path) {
		if path[i] == '/' || path[i] == '.' && last == '.' {
			return false
		}
		last = path[i]
	}
	return path == "" || last != '.'
}

// withTags builds labels. Of tags with one key the last one counts.
func withTags(name string, tags []storage.Tag) labels.Labels {
	if len(name) > maxLabelLength || slices.ContainsFunc(tags, isTooLong) {
		return labels.EmptyLabels()
	}
	b := labels.NewScratchBuilder(len(tags) + 1)
	add(&b, nameLabel, name)
	slices.SortStableFunc(tags, byKey)
	for i, tag := range tags {
		if i+1 == len(tags) || tags[i+1].Key != tag.Key {
			b.Add(tag.Key, tag.Value)
		}
	}
	b.Sort()
	return b.Labels()
}

func isTooLong(tag storage.Tag) bool { return max(len(tag.Key), len(tag.Value)) > maxLabelLength }
