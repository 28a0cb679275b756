package pebble

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// clock gives the times of cells. They never go back, not after a restart either, even if the
// machine's clock does: before a time is given, a mark that is as late is in the log, and a store
// that is opened begins at its mark.
type clock struct {
	wall func() int64 // milliseconds since 1970
	last atomic.Int64 // greatest time given
	mark atomic.Int64 // greatest time that may be given
	mu   sync.Mutex   // held while mark moves
}

// markStep is how far a mark is set ahead, in milliseconds, so that the log holds one a second.
const markStep = 1000

func (c *clock) load(db *pebble.DB) error {
	mark, _, err := readNumber(db, timeKey())
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	c.last.Store(int64(mark))
	c.mark.Store(int64(mark))
	return nil
}

// now returns the time of a change that begins. The mark is not waited for: it is in the log before
// the change is.
func (c *clock) now(db *pebble.DB) (int64, error) {
	t := c.wall()
	for {
		last := c.last.Load()
		if t <= last {
			t = last
			break
		}
		if c.last.CompareAndSwap(last, t) {
			break
		}
	}
	if t <= c.mark.Load() {
		return t, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t <= c.mark.Load() {
		return t, nil
	}
	if err := db.Set(timeKey(), binary.AppendUvarint(nil, uint64(t+markStep)), pebble.NoSync); err != nil {
		return 0, fmt.Errorf("time: %w", err)
	}
	c.mark.Store(t + markStep)
	return t, nil
}
