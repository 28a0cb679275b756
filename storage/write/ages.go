package write

import (
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// ages are when everything in the head was acknowledged, which only tables that others write
// to need. It is a second head whose values are times: it follows the first in every write, and
// costs about as much again.
type ages struct {
	clock *stampClock

	// mu is held for reading while a batch goes to both heads, and for writing while rows leave
	// both.
	mu   sync.RWMutex
	head *head.Head
	jobs sync.Pool // *head.Batch
}

func newAges(clock *stampClock) *ages {
	a := &ages{clock: clock, head: head.New(head.Options{Now: clock.wall})}
	a.jobs.New = func() any { return &head.Batch{} }
	return a
}

// now is the time of an acknowledgement in milliseconds. Without ages it is 0.
func (a *ages) now() int64 {
	if a == nil {
		return 0
	}
	return a.clock.now()
}

// keep notes that a batch was acknowledged at a time, and adds it to the head. Records of earlier
// versions do not tell when (0): their points count as acknowledged at their own time.
func (a *ages) keep(b *head.Batch, acknowledged int64, add func()) {
	times := a.jobs.Get().(*head.Batch)
	defer a.jobs.Put(times)
	times.IDs, times.Times, times.Values = append(times.IDs[:0], b.IDs...), append(times.Times[:0], b.Times...), times.Values[:0]
	for i := range b.Objects {
		times.IDs, times.Times = append(times.IDs, b.Objects[i].ID), append(times.Times, b.Objects[i].Time)
	}
	for i, at := range times.Times {
		if acknowledged > 0 {
			at = acknowledged
		}
		value := float64(at)
		if i < len(b.Forms) && b.Forms[i].Millis() {
			value += inMillis
		}
		times.Values = append(times.Values, value)
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	a.head.Append(times, 0)
	add()
}

// inMillis is added to the age of a point whose time came in milliseconds: the head keeps no form
// of that.
const inMillis = 0.5

// agesOf lists when what is in a row of the head was acknowledged, and gives those of its points
// that came in milliseconds their unit.
func (b *buffer) agesOf(r head.Row) []own.Age {
	if b.ages == nil {
		return nil
	}
	var p head.Points
	begin := int64(r.Base) * 1000
	b.ages.head.Read(r.ID, begin, begin+schema.RowSeconds*1000-1, &p)
	ages := make([]own.Age, len(p.Times))
	for i, t := range p.Times {
		ages[i] = own.Age{Offset: uint32(t - begin), Time: int64(p.Values[i])}
		if float64(ages[i].Time) != p.Values[i] {
			if at, ok := row.PointAt(r.Points, ages[i].Offset); ok {
				r.Points[at].Millis = true
			}
		}
	}
	return ages
}

// drop drops rows that were put, and their ages unless more of the hour has arrived.
func (b *buffer) drop(sealed *head.Sealed) {
	if b.ages == nil {
		sealed.Drop()
		return
	}
	type hour struct{ id, base uint32 }
	hours := make([]hour, len(sealed.Rows))
	for i, r := range sealed.Rows {
		hours[i] = hour{r.ID, r.Base}
	}
	b.ages.mu.Lock()
	defer b.ages.mu.Unlock()
	sealed.Drop()
	for _, h := range hours {
		if !b.head.Holds(h.id, h.base) {
			b.ages.head.Remove(h.id, h.base)
		}
	}
}

// agesBytes is the memory of the ages.
func (b *buffer) agesBytes() int64 {
	if b.ages == nil {
		return 0
	}
	return b.ages.head.Stats().Bytes
}

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
