package write

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// state is what this process remembers of a series between appends: how far its current row is
// written. With it the common append, a point after all others of a row that was begun or read
// here, needs no reading.
type state struct {
	mu   sync.Mutex // held while a point of the series is being written; guards all below
	base uint32     // base time of the row, seconds
	// The greatest offsets in the row, milliseconds; -1: none. Samples are points and objects that
	// are samples.
	lastSample, lastObject int32
	unverified             uint32 // base + 1 of the row that the verifier has in its list; 0: none
	known                  bool   // base and offsets are true of the row in the engine
	// newest means that the table has no row of the series that is later than base: this process
	// made the series, and no other process writes.
	newest bool
	alone  bool // the verifier found nothing of others the last time
	beside bool // something was put beside the points; see noteBeside
}

// NoteNew remembers that this process wrote the tsdb-meta row of a series, which had none; true
// when it was not known to have one. Where no other process writes, such a series has no rows of
// data: points come after the row.
func (t *Table) NoteNew(id index.ID) bool {
	st := t.states.Of(id)
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.registry.Of(id).Exists() {
		return false // another call was faster, and may have written points
	}
	if t.exclusive {
		st.known, st.newest, st.lastSample, st.lastObject = true, true, -1, -1
	}
	return t.registry.Note(id)
}

// stampClock gives the times of acknowledgements that cells of shared tables are put with, in
// milliseconds. It goes by the wall clock, never goes back, and goes on from stamps of others that
// it has seen: what is acknowledged afterwards is later than those.
type stampClock struct {
	wall func() time.Time
	last atomic.Int64
}

// now returns the time of an acknowledgement.
func (c *stampClock) now() int64 { return c.raise(c.wall().UnixMilli()) }

// see notes a stamp that stands in a table. One that is far ahead of the wall clock tells nothing:
// its writer's clock is wrong.
func (c *stampClock) see(stamp int64) {
	if stamp <= c.wall().UnixMilli()+row.RecentSpan {
		c.raise(stamp)
	}
}

func (c *stampClock) raise(to int64) int64 {
	for {
		last := c.last.Load()
		if to <= last {
			return last
		}
		if c.last.CompareAndSwap(last, to) {
			return to
		}
	}
}
