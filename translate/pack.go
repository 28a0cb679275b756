package translate

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Packed labels are one stream: E(name) _/ E(value) _/ for each, a packed metric name (under
// __name__) first, then in order of the names. It is cut into tag values of the greatest length,
// under the keys -_p0, -_p1, and so on.

// packSeparator ends a name or a value in the stream. E has no such token; "_" and "/" may still
// follow each other in it ("__/"), so the stream is read from the left.
const packSeparator = "_/"

// maxLabelLength is the longest name or value that a labels.Labels can hold; a longer one makes it
// panic.
const maxLabelLength = 1<<24 - 1

func appendPair(stream []byte, name, value string) []byte {
	stream = append(append(stream, escape(name)...), packSeparator...)
	return append(append(stream, escape(value)...), packSeparator...)
}

// nextToken is the inverse of half an appendPair.
func nextToken(stream string) (text, rest string, ok bool) {
	for i := 0; i < len(stream)-1; i++ {
		if stream[i] != '_' {
			continue
		}
		if stream[i+1] == packSeparator[1] {
			text, ok = unescape(stream[:i])
			return text, stream[i+2:], ok && len(text) <= maxLabelLength
		}
		i++ // What follows a "_" belongs to it.
	}
	return "", "", false
}

// appendChunks appends the tags that hold the stream.
func (t *Translator) appendChunks(tags []storage.Tag, stream []byte) []storage.Tag {
	for i := 0; len(stream) > 0; i++ {
		n := min(len(stream), t.limits.length)
		tags = append(tags, storage.Tag{Key: chunkKey(i), Value: string(stream[:n])})
		stream = stream[n:]
	}
	return tags
}

// joinChunks is the inverse of appendChunks.
func joinChunks(tags []storage.Tag) (stream string, rest []storage.Tag, ok bool) {
	chunks := make([]string, len(tags))
	n := 0
	for _, tag := range tags {
		i, isChunk := chunkIndex(tag.Key)
		if !isChunk {
			rest = append(rest, tag)
			continue
		}
		if i >= len(chunks) {
			return "", nil, false
		}
		chunks[i] = tag.Value
		n++
	}
	if n == 0 || slices.Contains(chunks[:n], "") {
		return "", nil, false
	}
	return strings.Join(chunks[:n], ""), rest, true
}

// unpack returns the labels of a series with packed labels. That they are ours, and not tags of a
// foreign series under reserved keys, is only known when the labels make the very same series
// again.
func (t *Translator) unpack(s storage.Series) (labels.Labels, bool) {
	stream, tags, ok := joinChunks(s.Tags)
	if !ok {
		return labels.EmptyLabels(), false
	}
	b := labels.NewScratchBuilder(len(tags) + 1)
	mode := Literal
	if s.Metric != longMetric {
		var name string
		name, mode = t.name(s.Metric)
		add(&b, nameLabel, name)
	}
	for _, tag := range tags {
		name, own := labelName(tag.Key)
		if !own {
			return labels.EmptyLabels(), false
		}
		b.Add(name, mode.labelValue(tag.Value))
	}
	if !addPairs(&b, stream) {
		return labels.EmptyLabels(), false
	}
	b.Sort()
	ls := b.Labels()
	if !areDistinct(ls) {
		return labels.EmptyLabels(), false
	}
	again := t.FromLabels(ls)
	return ls, again.Metric == s.Metric && slices.Equal(again.Tags, s.Tags)
}

// addPairs adds the labels of a stream.
func addPairs(b *labels.ScratchBuilder, stream string) bool {
	for stream != "" {
		name, rest, ok := nextToken(stream)
		if !ok {
			return false
		}
		value, rest, ok := nextToken(rest)
		if !ok {
			return false
		}
		b.Add(name, value)
		stream = rest
	}
	return true
}

// areDistinct reports whether no name of sorted labels occurs twice. Labels.HasDuplicateLabelNames
// takes an empty name for one that does.
func areDistinct(ls labels.Labels) bool {
	distinct, first, last := true, true, ""
	ls.Range(func(l labels.Label) {
		distinct = distinct && (first || l.Name != last)
		first, last = false, l.Name
	})
	return distinct
}
