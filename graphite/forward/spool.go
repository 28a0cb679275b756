package forward

import (
	"context"
	"errors"
	"time"

	"github.com/tsdbridge/tsdbridge/statefile"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// gatherTime is how long points wait for others that are put into the spool with them: what is lost when
// the process is killed.
const gatherTime = 100 * time.Millisecond

var errNoSpace = errors.New("too little free disk space")

// spool puts points into the spool until ended is closed, and then the rest.
func (f *Forwarder) spool(ended <-chan struct{}) {
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
				err = f.keep(scratch, taken.first)
			}
			if f.noteSpooled(err, n); err != nil && n == 0 {
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

// keep puts a record into the spool, with points that came at a time.
func (f *Forwarder) keep(record []byte, milliseconds int64) error {
	if f.o.HasSpace != nil && !f.o.HasSpace(f.o.Dir) {
		return errNoSpace
	}
	if _, err := f.log.Append(context.Background(), record); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.oldest == 0 {
		f.oldest = milliseconds
	}
	return nil
}

// refusal is a time in which the spool takes no points, or only some. It is logged once.
type refusal struct {
	last    time.Time // zero: there is none
	dropped int
}

// quietTime is how long the spool must have taken all points for a refusal to have ended.
const quietTime = time.Minute

// noteSpooled counts what became of points.
func (f *Forwarder) noteSpooled(err error, points int) {
	r, now := &f.refusal, f.o.Now()
	if err == nil {
		signal(f.spooled)
		if !r.last.IsZero() && now.Sub(r.last) >= quietTime {
			f.o.Logger.Info("the spool takes all points for another carbon again", "address", f.o.Address, "dropped", r.dropped)
			*r = refusal{}
		}
		return
	}
	reason := dropDisk
	if errors.Is(err, log.ErrFull) {
		reason = dropFull
	}
	f.metrics.drop(reason, points)
	if r.last.IsZero() {
		f.o.Logger.Warn("the spool takes no points for another carbon, they are dropped; see TsdbridgeForwardLag in docs/monitoring.md", "address", f.o.Address, "limit", f.o.MaxBytes, "err", err)
	}
	r.last, r.dropped = now, r.dropped+points
}

// confirm notes that the other carbon has all points before a position, and forgets them.
func (f *Forwarder) confirm(at log.Position) {
	f.mu.Lock()
	same := at == f.confirmed
	f.confirmed = at
	f.mu.Unlock()
	if same {
		return
	}
	err := statefile.Write(f.state, sent{at.Segment, at.Offset})
	if err == nil {
		err = f.log.Truncate(at)
	}
	if f.metrics.state.Note(context.Background(), err) {
		f.o.Logger.Warn("how far points were forwarded cannot be kept, they may be sent again; look at the disk", "address", f.o.Address, "err", err)
	}
}
