package storage

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// days are the first and the last day (since 1970) in which a series may have points. The high half is 65535 less the first day, the low half the last,
// so both only ever grow, and 0 is no day at all.
type days uint32

const (
	noDays    days = 0
	everyDay  days = 1<<32 - 1
	lastDay        = 1<<16 - 1
	dayMillis      = 24 * 3600 * 1000
)

func daysOf(first, last uint16) days { return days(lastDay-first)<<16 | days(last) }

// dayOfRow is the day of the row with a base time; an hour is never in two.
func dayOfRow(base uint32) days {
	day := uint16(base / (dayMillis / 1000))
	return daysOf(day, day)
}

// daysBetween are the days from start to end (milliseconds, inclusive). All that rows can be of is every day.
func daysBetween(start, end int64) days {
	last := uint16(lastDay)
	if end < series.MaxTime {
		last = uint16(max(end, 0) / dayMillis)
	}
	return daysOf(uint16(min(max(start, 0), series.MaxTime)/dayMillis), last)
}

func (d days) first() uint16 { return lastDay - uint16(d>>16) }
func (d days) last() uint16  { return uint16(d) }

func (d days) union(o days) days { return max(d&^lastDay, o&^lastDay) | max(d&lastDay, o&lastDay) }

// overlaps says whether two spans have a day in common; every day overlaps with whatever there is, even with no days.
func (d days) overlaps(o days) bool { return d.first() <= o.last() && o.first() <= d.last() }

// spans says for each series in which days it may have points: more days than it has, never fewer. They only widen, by rows that are begun in the
// head or put into the table. A table that nobody else writes to keeps them beside the series; there they widen before the row
// is put that needs it. It costs 8 bytes a series, in memory without pointers.
type spans struct {
	pages atomic.Pointer[[]*spanPage]

	growing sync.Mutex // held while pages grow

	begin sync.Mutex // guards begun and the setting of whole
	begun bool       // whole is known
	whole bool       // a series without a span in the table has no rows there: all were made by versions that keep spans
}

const spansPerPage = 4096

type spanPage [spansPerPage]span

// span is that of a series: as it is, and as far as the table is known to have it.
type span struct{ now, kept atomic.Uint32 }

func (p *spans) of(id index.ID) *span {
	page := int(id) / spansPerPage
	if pages := p.pages.Load(); pages != nil && page < len(*pages) {
		return &(*pages)[page][id%spansPerPage]
	}
	return &p.grow(page)[page][id%spansPerPage]
}

// grow makes pages up to one. Readers have the list of before, of the same pages.
func (p *spans) grow(page int) []*spanPage {
	p.growing.Lock()
	defer p.growing.Unlock()
	var pages []*spanPage
	if old := p.pages.Load(); old != nil {
		pages = append(pages, *old...)
	}
	for page >= len(pages) {
		pages = append(pages, new(spanPage))
	}
	p.pages.Store(&pages)
	return pages
}

// widen makes a span cover more days.
func widen(span *atomic.Uint32, by days) {
	for {
		was := days(span.Load())
		wide := was.union(by)
		if wide == was || span.CompareAndSwap(uint32(was), uint32(wide)) {
			return
		}
	}
}

// began notes a row that begins in the head.
func (p *spans) began(id, base uint32) { widen(&p.of(index.ID(id)).now, dayOfRow(base)) }

// read notes what the table has of a series.
func (s *span) read(d days) {
	widen(&s.now, d)
	widen(&s.kept, d)
}

// overlap gives the condition that a series may have points between start and end (milliseconds, inclusive); nil: all do.
func (p *spans) overlap(start, end int64) func(index.ID) bool {
	asked := daysBetween(start, end)
	if p == nil || asked == everyDay {
		return nil
	}
	return func(id index.ID) bool { return days(p.of(id).now.Load()).overlaps(asked) }
}
