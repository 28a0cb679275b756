package resultcache

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// A list is the series of an answer, by their labels. It does not change.
type list struct {
	labels []labels.Labels
	heads  []byte // what is sent before the points of each
	ends   []int  // of the heads
}

// newList returns a list of series. labels must be in their order.
func newList(all []labels.Labels, f Format) *list {
	l := &list{labels: all, ends: make([]int, 0, len(all))}
	for _, ls := range all {
		l.heads = f.Labels(l.heads, ls)
		l.ends = append(l.ends, len(l.heads))
	}
	return l
}

func (l *list) head(i int) []byte {
	if i == 0 {
		return l.heads[:l.ends[0]]
	}
	return l.heads[l.ends[i-1]:l.ends[i]]
}

// has reports whether a list is of the same series.
func (l *list) has(other []labels.Labels) bool {
	return slices.EqualFunc(l.labels, other, labels.Equal)
}

// A union is the series of two lists, with their numbers in each, -1 for none.
type union struct {
	labels      []labels.Labels
	left, right []int32
}

// join returns the series of a list for which alive returns true, and those of another one.
func (l *list) join(other []labels.Labels, alive func(i int) bool) union {
	u := union{labels: make([]labels.Labels, 0, max(len(l.labels), len(other)))}
	for i, k := 0, 0; i < len(l.labels) || k < len(other); {
		order := compare(l.labels[i:], other[k:])
		left, right := int32(-1), int32(-1)
		if order <= 0 {
			left = int32(i)
			i++
		}
		if order >= 0 {
			right = int32(k)
			k++
		}
		if right < 0 && !alive(int(left)) {
			continue
		}
		if left >= 0 {
			u.labels = append(u.labels, l.labels[left])
		} else {
			u.labels = append(u.labels, other[right])
		}
		u.left, u.right = append(u.left, left), append(u.right, right)
	}
	return u
}

// compare tells which of two lists has the first series.
func compare(a, b []labels.Labels) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return labels.Compare(a[0], b[0])
	}
}

// seriesBytes is the memory of a series without labels and points.
const seriesBytes = 64

func (l *list) bytes() int64 {
	n := int64(cap(l.heads) + 8*cap(l.ends))
	for i := range l.labels {
		n += seriesBytes + int64(l.labels[i].ByteSize())
	}
	return n
}
