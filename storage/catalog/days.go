package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// days are the first and the last day (since 1970) in which a series may have points. The high half
// is 65535 less the first day, the low half the last, so both only ever grow, and 0 is no day at
// all.
type days uint32

const (
	noDays    days = 0
	everyDay  days = 1<<32 - 1
	lastDay        = 1<<16 - 1
	dayMillis      = 24 * 3600 * 1000
)

func daysOf(first, last uint16) days { return days(lastDay-first)<<16 | days(last) }

// dayOfRow returns the day of the row with a base time; an hour is never in two.
func dayOfRow(base uint32) days {
	day := uint16(base / (dayMillis / 1000))
	return daysOf(day, day)
}

// daysBetween returns the days from start to end (milliseconds, inclusive). All that rows can be of
// is every day.
func daysBetween(start, end int64) days {
	last := uint16(lastDay)
	if end < storage.MaxTime {
		last = uint16(max(end, 0) / dayMillis)
	}
	return daysOf(uint16(min(max(start, 0), storage.MaxTime)/dayMillis), last)
}

func (d days) first() uint16 { return lastDay - uint16(d>>16) }
func (d days) last() uint16  { return uint16(d) }

func (d days) union(o days) days { return max(d&^lastDay, o&^lastDay) | max(d&lastDay, o&lastDay) }

// overlaps reports whether they have a day in common; everyDay overlaps with everything, even with
// noDays.
func (d days) overlaps(o days) bool { return d.first() <= o.last() && o.first() <= d.last() }

// Days records for each series the days in which it may have points: perhaps more days than it has,
// never fewer. Rows that are begun in the head or put into the table widen them; deletions narrow
// them. The series' rows of tsdb-meta contain them too, and are widened before a row is put that
// needs it. They take 8 bytes for each series, in memory without pointers. Tables that other
// processes write to have nil Days: nothing is known.
type Days struct {
	db       *kv.Engine
	tables   storage.Tables
	index    *index.Index
	registry *Registry

	active index.Pages[activeDays]

	begin sync.Mutex // guards begun and the setting of whole
	begun bool       // whole is known
	// a series without days in the table has no rows there: all were made by versions that keep
	// days
	whole bool
}

// NewDays returns the days of a table that no other process writes to.
func NewDays(db *kv.Engine, tables storage.Tables, x *index.Index, registry *Registry) *Days {
	return &Days{db: db, tables: tables, index: x, registry: registry}
}

// activeDays are those of a series: as they are, and as far as the table is known to have them.
type activeDays struct{ now, kept atomic.Uint32 }

func (p *Days) of(id index.ID) *activeDays { return p.active.Of(id) }

// all returns the days of a series.
func (p *Days) all(id index.ID) days { return days(p.of(id).now.Load()) }

// widen makes days cover more.
func widen(kept *atomic.Uint32, by days) {
	for {
		was := days(kept.Load())
		wide := was.union(by)
		if wide == was || kept.CompareAndSwap(uint32(was), uint32(wide)) {
			return
		}
	}
}

// Began notes a row that begins in the head.
func (p *Days) Began(id, base uint32) { widen(&p.of(index.ID(id)).now, dayOfRow(base)) }

// read notes what the table has of a series.
func (a *activeDays) read(d days) {
	widen(&a.now, d)
	widen(&a.kept, d)
}

// overlap gives the condition that a series may have points between start and end (milliseconds,
// inclusive); nil: all do.
func (p *Days) overlap(start, end int64) func(index.ID) bool {
	asked := daysBetween(start, end)
	if p == nil || asked == everyDay {
		return nil
	}
	return func(id index.ID) bool { return p.all(id).overlaps(asked) }
}

// Hours returns the base times of the first and the last row that a series may have; ok is false if
// it has none. Nil Days return the limits of base times.
func (p *Days) Hours(id index.ID) (first, last uint32, ok bool) {
	d := everyDay
	if p != nil {
		d = p.all(id)
	}
	if d == noDays {
		return 0, 0, false
	}
	const day = dayMillis / 1000
	// the last day that rows can be of is cut off by the 32 bits of base times
	end := min((int64(d.last())+1)*day-schema.RowSeconds, int64(schema.Base(storage.MaxTime)))
	return uint32(d.first()) * day, uint32(end), true
}

// without returns the days that are left when the points from start to end (milliseconds,
// inclusive) are deleted: days within are given up at the begin and at the end.
func (d days) without(start, end int64) days {
	if d == noDays {
		return d
	}
	begin := func(day int) int64 { return int64(day) * dayMillis }
	first, last := int(d.first()), int(d.last())
	for first <= last && start <= begin(first) && end >= min(begin(first+1)-1, storage.MaxTime) {
		first++
	}
	for first <= last && start <= begin(last) && end >= min(begin(last+1)-1, storage.MaxTime) {
		last--
	}
	if first > last {
		return noDays
	}
	return daysOf(uint16(first), uint16(last))
}
