package head

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// view is a copy of rows, taken under the lock of their shard and decoded without it.
type view struct {
	raw  []byte
	rows []rowView

	// scratch
	columns                 points
	all, stream, side, both []entry
}

// rowView is the position of a row in the raw bytes.
type rowView struct {
	base, count      uint32
	sealed           bool
	begin, side, end int // the stream (with padding) from begin to side, the side from there to end
}

func (v *view) reset() { v.raw, v.rows = v.raw[:0], v.rows[:0] }

// add copies a row.
func (v *view) add(s *shard, r *openRow) {
	n := rowView{base: r.base, count: r.count, sealed: r.sealed, begin: len(v.raw)}
	v.raw = append(v.raw, r.short[:r.shortUsed]...)
	v.raw = r.stream.appendTo(v.raw, &s.blocks)
	v.raw = append(v.raw, make([]byte, padding)...)
	n.side = len(v.raw)
	if r.side != 0 {
		v.raw = s.sides.at(r.side).chain.appendTo(v.raw, &s.blocks)
	}
	n.end = len(v.raw)
	v.rows = append(v.rows, n)
}

// sort orders the rows by their hours, and of one hour the one that was handed out first: what it
// holds is older.
func (v *view) sort() {
	slices.SortFunc(v.rows, func(a, b rowView) int {
		switch {
		case a.base != b.base || a.sealed == b.sealed:
			return cmp.Compare(a.base, b.base)
		case a.sealed:
			return -1
		default:
			return 1
		}
	})
}

// hours cuts the sorted rows into those of one hour each.
func (v *view) hours(yield func([]rowView) bool) {
	for i := 0; i < len(v.rows); {
		j := i + 1
		for j < len(v.rows) && v.rows[j].base == v.rows[i].base {
			j++
		}
		if !yield(v.rows[i:j]) {
			return
		}
		i = j
	}
}

// plain appends the points of the rows of one hour to columns, if they are all the rows hold and in
// order from a time on; else the columns are left as they were. It may leave out points before from.
func (v *view) plain(c *points, rows []rowView, from int64) bool {
	points, integers, doubles := len(c.times), len(c.integers), len(c.doubles)
	for _, r := range rows {
		if r.side != r.end {
			return false
		}
	}
	for _, r := range rows {
		at := len(c.times)
		c.decodeFrom(int64(r.base)*1000, from, v.raw[r.begin:r.side], int(r.count))
		if at > points && at < len(c.times) && c.times[at] <= c.times[at-1] {
			c.times, c.values, c.integers, c.doubles = c.times[:points], c.values[:points], c.integers[:integers], c.doubles[:doubles]
			return false
		}
	}
	return true
}

// settled returns the content of the rows of one hour, in order, with one sample an instant. It is
// valid until the next call.
func (v *view) settled(rows []rowView) []entry {
	v.all = v.all[:0]
	for _, r := range rows {
		v.load(r)
		if !slices.IsSortedFunc(v.side, compareOffsets) {
			slices.SortStableFunc(v.side, compareOffsets)
		}
		v.both = mergeEntries(v.both[:0], v.stream, v.side)
		if len(v.all) == 0 {
			v.all, v.both = v.both, v.all
			continue
		}
		v.stream = mergeEntries(v.stream[:0], v.all, v.both)
		v.all, v.stream = v.stream, v.all
	}
	return settle(v.all)
}

// load reads a row: what is in the side is newer than what the stream has at the same instant, and
// in order of arrival.
func (v *view) load(r rowView) {
	v.columns.reset()
	v.columns.decode(0, v.raw[r.begin:r.side], int(r.count))
	v.stream = v.columns.appendEntries(v.stream[:0])
	v.side = appendEntries(v.side[:0], v.raw[r.side:r.end])
}

// appendEntries appends the points one by one; their times are offsets.
func (c *points) appendEntries(dst []entry) []entry {
	integers, doubles := c.integers, c.doubles
	for i, t := range c.times {
		if len(integers) > 0 && integers[0].at == i {
			dst = append(dst, entry{offset: uint32(t), kind: kindInteger, bits: uint64(integers[0].value)})
			integers = integers[1:]
			continue
		}
		form := storage.FormFloat
		if len(doubles) > 0 {
			form, doubles = doubles.form(i)
		}
		dst = append(dst, entry{offset: uint32(t), kind: kindOf(c.values[i], form == storage.FormDouble), bits: math.Float64bits(c.values[i])})
	}
	return dst
}

func compareOffsets(a, b entry) int { return cmp.Compare(a.offset, b.offset) }

// mergeEntries appends two sorted lists as one; of one instant those of a come first.
func mergeEntries(dst, a, b []entry) []entry {
	for len(a) > 0 && len(b) > 0 {
		if b[0].offset < a[0].offset {
			dst, b = append(dst, b[0]), b[1:]
		} else {
			dst, a = append(dst, a[0]), a[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// settle lets the entries of each instant, which are sorted by offset and then by age, take each
// other's place, in the memory of entries.
func settle(entries []entry) []entry {
	out := entries[:0]
	for i := 0; i < len(entries); {
		first, begin := entries[i].offset, len(out)
		for ; i < len(entries) && entries[i].offset == first; i++ {
			// An instant never has more entries than were read of it, so that nothing unread is
			// written over.
			out = out[:begin+len(replace(out[begin:], entries[i]))]
		}
		if instant := out[begin:]; len(instant) > 1 {
			slices.SortFunc(instant, compareInstant)
		}
	}
	return out
}

// replace adds the next entry of an instant: the newest write wins, as it does in the table's rows.
func replace(instant []entry, e entry) []entry {
	for _, o := range instant {
		if o.kind == e.kind && o.bits == e.bits && bytes.Equal(o.data, e.data) {
			return instant
		}
	}
	if len(instant) > 0 {
		kind := e.rowKind()
		instant = slices.DeleteFunc(instant, func(o entry) bool { return row.Replaces(kind, o.rowKind()) })
	}
	return append(instant, e)
}

// compareInstant orders the entries of an instant: the number, then objects by kind and content.
func compareInstant(a, b entry) int {
	return cmp.Or(cmp.Compare(a.rowKind(), b.rowKind()), bytes.Compare(a.data, b.data))
}
