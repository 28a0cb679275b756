package compact

import (
	"time"

	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Rows of hours that were looked at for the last time may be written to later: old data is filled
// in. A walk finds these rows by the stamps of their cells, which tell when a cell was written, not
// when its points were measured. A compaction keeps the stamps, so that a walk finds no row because
// of an earlier compaction. HBase passes over files without such stamps. Where a walk is stands in
// the lease, so that it goes on after a restart; it gives way to hours that close.

const (
	// walkEvery is the time from the begin of a walk to the next one.
	walkEvery = 24 * time.Hour
	// walkMargin is how far before its last begin the stamps lie that a walk looks for: rows that
	// were not quiet then, and clocks that are late.
	walkMargin = time.Hour
)

// A course is what rows a pass looks at, and where it begins.
type course struct {
	from, to uint32 // base times of the hours
	since    int64  // of a walk: only rows with cells of this stamp or a later one; 0: all rows
	at       []byte // the first row key
}

// walks reports whether the pass is a walk.
func (c *course) walks() bool { return c.since > 0 }

// nextWalk returns the lease with a walk, an unfinished one or a new one. It is false if none is
// due, or if there are hours to look at first.
func (c *Compactor) nextWalk(l own.Lease, now time.Time) (own.Lease, bool) {
	if _, due := c.next(l, now); due {
		return l, false
	}
	if l.Walk == 0 {
		if now.UnixMilli() < l.Walked+walkEvery.Milliseconds() {
			return l, false
		}
		l.Walk, l.WalkAt = now.UnixMilli(), nil
	}
	return l, true
}

// courseOf returns the course of the work that a lease tells of. The first walk looks for rows that
// were written within the horizon, and leaves the hours within it, which are looked at anyway.
func (c *Compactor) courseOf(l own.Lease) course {
	if l.To > 0 {
		return course{from: l.From, to: l.To, at: l.At}
	}
	w := course{to: l.Again, since: l.Walked, at: l.WalkAt}
	if begun := time.UnixMilli(l.Walk); l.Walked == 0 {
		w.to, w.since = min(w.to, baseBefore(begun.Add(-c.o.After-horizon))), begun.Add(-horizon).UnixMilli()
	}
	w.since = max(w.since-walkMargin.Milliseconds(), 1)
	return w
}
