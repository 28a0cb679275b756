package write

import (
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/row"
)

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
