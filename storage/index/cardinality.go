package index

import (
	"cmp"
	"container/heap"
	"slices"
)

// Count is how many there are of something: series of a UID or of a tag, values of a key.
type Count struct {
	Key   string // UID of a metric or a tag key
	Value string // UID of a tag value; of tags alone
	Count int
}

// Cardinality are the largest numbers of an index, each list descending.
type Cardinality struct {
	Series  int
	Metrics int // metrics that have series
	Tags    int // pairs of key and value

	SeriesByMetric []Count
	ValuesByKey    []Count
	BytesByKey     []Count // of lists of series, about
	SeriesByTag    []Count
}

// The memory of a list of series, about: an entry of its map, and each series in it.
const (
	bytesPerList   = 24
	bytesPerSeries = 4
)

// Cardinality counts; each list has at most limit entries. It goes over all UIDs that series have,
// while no series can be added.
func (x *Index) Cardinality(limit int) Cardinality {
	metrics, keys, bytes, tags := top{limit: limit}, top{limit: limit}, top{limit: limit}, top{limit: limit}
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := Cardinality{Series: x.tsuids.Len() - len(x.removed), Metrics: len(x.metrics.places)}
	for metric, at := range x.metrics.places {
		metrics.add(uidCount{key: metric, count: len(x.metrics.at(at))})
	}
	for key, values := range x.tags {
		keys.add(uidCount{key: key, count: len(values.places)})
		size := 0
		for value, at := range values.places {
			n := len(values.at(at))
			size += bytesPerList + bytesPerSeries*n
			tags.add(uidCount{key: key, value: value, count: n})
		}
		bytes.add(uidCount{key: key, count: size})
		c.Tags += len(values.places)
	}
	l := x.layout
	c.SeriesByMetric, c.SeriesByTag = metrics.counts(l.MetricWidth, 0), tags.counts(l.TagkWidth, l.TagvWidth)
	c.ValuesByKey, c.BytesByKey = keys.counts(l.TagkWidth, 0), bytes.counts(l.TagkWidth, 0)
	return c
}

type uidCount struct {
	key, value uidNumber
	count      int
}

// top keeps the largest counts that were added: a heap with the least of them first.
type top struct {
	limit int
	kept  []uidCount
}

func (t *top) Len() int           { return len(t.kept) }
func (t *top) Less(i, j int) bool { return t.kept[i].count < t.kept[j].count }
func (t *top) Swap(i, j int)      { t.kept[i], t.kept[j] = t.kept[j], t.kept[i] }
func (t *top) Push(x any)         { t.kept = append(t.kept, x.(uidCount)) }
func (t *top) Pop() any {
	last := t.kept[len(t.kept)-1]
	t.kept = t.kept[:len(t.kept)-1]
	return last
}

func (t *top) add(c uidCount) {
	switch {
	case len(t.kept) < t.limit:
		heap.Push(t, c)
	case t.limit > 0 && c.count > t.kept[0].count:
		t.kept[0] = c
		heap.Fix(t, 0)
	}
}

// counts returns what was kept, descending; equal ones by their UIDs. A value of width 0 is none.
func (t *top) counts(keyWidth, valueWidth int) []Count {
	slices.SortFunc(t.kept, func(a, b uidCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value))
	})
	all := make([]Count, len(t.kept))
	for i, c := range t.kept {
		all[i] = Count{Key: string(c.key.appendUID(nil, keyWidth)), Value: string(c.value.appendUID(nil, valueWidth)), Count: c.count}
	}
	return all
}
