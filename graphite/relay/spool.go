package relay

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// gatherTime is how long points wait for others that are put into the spool with them: what is lost when
// the process is killed.
const gatherTime = 100 * time.Millisecond

// put puts points into the spool until ended is closed, and then the rest.
func (f *Forwarder) put(ended <-chan struct{}) {
	var taken gathered
	var scratch []byte
	for open := true; open; {
		select {
		case <-f.gather.some:
		case <-ended:
			open = false
		}
		if open {
			open = f.waitForMore(ended)
		}
		taken = f.gather.take(taken)
		for points := taken.points; len(points) > 0; {
			first, rest, n, err := cutRecord(points)
			if err == nil {
				scratch = appendRecord(scratch[:0], taken.first, first)
			}
			if f.keep(scratch, taken.first, n, err); err != nil && n == 0 {
				break // never: this package wrote the points
			}
			points = rest
		}
	}
}

// waitForMore waits until there are enough points for a record, or no more come, which is false.
func (f *Forwarder) waitForMore(ended <-chan struct{}) bool {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.gather.enough:
	case <-ended:
		return false
	}
	return true
}

// keep puts a record into the spool, with points that came at a time. Without a record it counts them.
func (f *Forwarder) keep(record []byte, milliseconds int64, points int, err error) {
	var k persistentqueue.Kept
	if err != nil {
		k = f.spool.Refuse(err, points)
	} else {
		k = f.spool.Keep([][]byte{record}, milliseconds, points)
	}
	if k.Ends {
		f.o.Logger.Info("the spool takes all points for another carbon again", "address", f.o.Address, "dropped", k.Dropped)
	}
	if k.Err != nil {
		f.metrics.drop(k.Reason, points)
	}
	if k.Begins {
		f.o.Logger.Warn("the spool takes no points for another carbon, they are dropped; see TsdbridgeForwardLag in docs/monitoring.md", "address", f.o.Address, "limit", f.o.MaxBytes, "err", k.Err)
	}
}

// confirm notes that the other carbon has all points before a position, and forgets them.
func (f *Forwarder) confirm(at log.Position) {
	if news, err := f.spool.Confirm(context.Background(), at); news {
		f.o.Logger.Warn("how far points were forwarded cannot be saved, they may be sent again; check the disk", "address", f.o.Address, "err", err)
	}
}
