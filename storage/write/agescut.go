package write

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// cut takes points of series out of the head, from start to end (milliseconds, inclusive), that
// were acknowledged until a time. The caller holds Flusher.mu, and deleter.order for writing.
func (b *buffer) cut(ids []index.ID, start, end, until int64) {
	b.ages.mu.Lock()
	defer b.ages.mu.Unlock()
	var bases []uint32
	for _, id := range ids {
		bases = bases[:0]
		b.head.Hours(uint32(id), func(base uint32) { bases = append(bases, base) })
		slices.Sort(bases)
		for _, base := range slices.Compact(bases) { // an hour may have two rows
			begin := int64(base) * 1000
			from, to := max(start, begin), min(end, begin+schema.RowSeconds*1000-1)
			if from <= to {
				b.cutHour(uint32(id), from, to, until)
			}
		}
	}
}

// cutHour is cut for times of one hour.
func (b *buffer) cutHour(id uint32, from, to, until int64) {
	var p head.Points
	b.ages.head.Read(id, from, to, &p)
	remove := func(from, to int64) {
		if from <= to {
			b.head.Delete(id, from, to)
			b.ages.head.Delete(id, from, to)
		}
	}
	gone := false
	for i, time := range p.Times {
		if int64(p.Values[i]) <= until {
			gone = true
			continue
		}
		remove(from, time-1)
		from = time + 1
	}
	if gone {
		remove(from, to)
	}
}
