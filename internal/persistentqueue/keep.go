package persistentqueue

import (
	"context"
	"errors"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

// quietTime is how long a queue must have taken everything for a refusal to have ended.
const quietTime = time.Minute

var errNoSpace = errors.New("too little free disk space")

// Reasons are why a queue does not take something.
const (
	ReasonFull = "full" // it has its size
	ReasonDisk = "disk" // the disk failed, or has little space
)

// refusal is a time in which a queue takes nothing, or only some.
type refusal struct {
	last    time.Time // zero: there is none
	dropped int
}

// Kept is what became of records.
type Kept struct {
	Err    error  // why they were not taken
	Reason string // of Err
	// Begins means that this is the first refusal after a time without, Ends that there was none for a minute.
	Begins, Ends bool
	Dropped      int // pieces of data, in the refusals that have ended
}

// Keep puts records with a number of pieces of data into the queue, durably. They came at a time (milliseconds). After
// an error some of the records may be there.
func (s *Queue) Keep(records [][]byte, came int64, pieces int) Kept {
	err := errNoSpace
	if s.o.HasSpace() {
		err = s.refresh()
	}
	for _, record := range records {
		if err == nil {
			_, err = s.log.Append(context.Background(), record)
		}
	}
	if errors.Is(err, log.ErrClosed) {
		return Kept{Err: err, Reason: ReasonDisk}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return s.refuse(err, pieces)
	}
	if s.oldest == 0 {
		s.oldest = came
	}
	select {
	case s.grown <- struct{}{}:
	default:
	}
	if s.refused.last.IsZero() || s.o.Now().Sub(s.refused.last) < quietTime {
		return Kept{}
	}
	k := Kept{Ends: true, Dropped: s.refused.dropped}
	s.refused = refusal{}
	return k
}

// Refuse notes data that are not put into the queue. It is for those of which no record can be made.
func (s *Queue) Refuse(err error, pieces int) Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse(err, pieces)
}

// refuse notes a refusal. It needs mu.
func (s *Queue) refuse(err error, pieces int) Kept {
	k := Kept{Err: err, Reason: ReasonDisk, Begins: s.refused.last.IsZero()}
	if errors.Is(err, log.ErrFull) {
		k.Reason = ReasonFull
	}
	s.refused.last, s.refused.dropped = s.o.Now(), s.refused.dropped+pieces
	return k
}
