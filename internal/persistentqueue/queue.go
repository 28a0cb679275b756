// Package persistentqueue keeps records on the disk until another server has them: a log, and how far of it the server has. It
// sends nothing, knows nothing of the records, and logs nothing: its users tell what it tells them, in their words.
package persistentqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// Options are those of a Queue. All but Owner must be given.
type Options struct {
	// Dir is the directory of the queue, which has it to itself.
	Dir string
	// SegmentBytes is the size of a file, MaxBytes that of all of them: four files at least. MaxRecordBytes is the
	// size of a record.
	SegmentBytes, MaxBytes, MaxRecordBytes int64
	// HasSpace reports whether the disk has space for more.
	HasSpace func() bool
	// Owner is the store that the queue belongs to: Open refuses that of another one, or of another time. nil: the
	// tables have no name, and only that all files are those of one queue is looked at.
	Owner Owner
	// CameAt returns when the oldest data of a record came, in milliseconds.
	CameAt func(record []byte) (int64, error)

	Logger *slog.Logger // of the log
	Now    func() time.Time
}

// A Queue keeps records. It is safe for concurrent use; one caller at a time reads and confirms.
type Queue struct {
	o       Options
	log     *log.Log
	id      identity
	state   string // a file: how far the server has the records
	again   string // why it counted for nothing; empty: it did
	grown   chan struct{}
	keeping retry.Outcome // of the state
	stale   atomic.Bool   // the state is to be replaced
	writing sync.Mutex    // held while the state is written

	mu        sync.Mutex // guards all below
	confirmed log.Position
	oldest    int64 // milliseconds: when the first data came that are not sent; 0: all are
	refused   refusal
}

// Open opens a queue, or makes it. What is damaged, or another store's, is ErrRefused. A state of another queue, or of
// one that is gone, counts for nothing: everything is sent again, see Again.
func Open(o Options) (*Queue, error) {
	s := &Queue{o: o, state: filepath.Join(o.Dir, "sent.json"), grown: make(chan struct{}, 1)}
	var err error
	if s.id, err = identify(o.Dir, o.Owner); err == nil {
		s.log, err = log.Open(s.id.logOptions(o.Dir, log.Options{
			SegmentBytes: o.SegmentBytes, MaxBytes: o.MaxBytes, SpareBytes: o.SegmentBytes, MaxRecordBytes: o.MaxRecordBytes,
			Logger: o.Logger, Now: o.Now,
		}))
	} else {
		return nil, refusedError(o.Dir, err)
	}
	switch {
	case errors.Is(err, log.ErrCorrupt):
		return nil, refusedError(o.Dir, err)
	case err != nil:
		return nil, fmt.Errorf("the spool %s: %w", o.Dir, err)
	}
	if err := s.readState(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	s.peek()
	return s, nil
}

// readState finds up to where the server has the records.
func (s *Queue) readState() error {
	var at sent
	switch found, err := fsutil.ReadState(s.state, &at); {
	case found && err != nil:
		return fmt.Errorf("%s: %w", s.state, err)
	case err != nil:
		return err
	case !found:
		return nil
	}
	p := log.Position{Segment: at.Segment, Offset: at.Offset}
	s.again = s.id.holds(at)
	if s.again == "" && p.Compare(s.log.End()) > 0 {
		s.again = fmt.Sprintf("the spool is older than it: it ends at %v, and the state is %v", s.log.End(), p)
	}
	if s.again == "" {
		s.confirmed = p
	}
	if s.stale.Store(s.again != "" || at.Spool == ""); s.log.Waits() == nil {
		_ = s.refresh() // else before more is kept
	}
	return nil
}

// refresh replaces a state that says nothing about this queue, or not that it does: later positions would be taken for
// those that it names.
func (s *Queue) refresh() error {
	if !s.stale.Load() {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if !s.stale.Load() {
		return nil
	}
	return s.writeState(s.Position())
}

// writeState keeps up to where the server has the records. It needs writing.
func (s *Queue) writeState(at log.Position) error {
	if err := fsutil.WriteState(s.state, s.id.stateAt(at)); err != nil {
		return fmt.Errorf("%s: %w", s.state, err)
	}
	s.stale.Store(false)
	return nil
}

// Again tells why everything in the queue is sent again though a state was there; empty: it is not.
func (s *Queue) Again() string {
	if s.again == "" {
		return ""
	}
	return s.state + ": " + s.again
}

var errPeeked = errors.New("one record is enough")

// peek notes when the oldest data came that the queue holds. What cannot be read shows when it is sent.
func (s *Queue) peek() {
	_ = s.log.Tail(context.Background(), s.confirmed, func(record []byte, _ log.Position) error {
		s.oldest, _ = s.o.CameAt(record)
		return errPeeked
	})
}

// Close closes the queue. Records stay.
func (s *Queue) Close() error { return s.log.Close() }

// Grown holds one after the queue has taken records.
func (s *Queue) Grown() <-chan struct{} { return s.grown }

// Tail calls do with each record from a position on, and the position after it, until there is no other one.
func (s *Queue) Tail(ctx context.Context, from log.Position, do func(record []byte, next log.Position) error) error {
	return s.log.Tail(ctx, from, do)
}

// Beyond returns where a Tail goes on that has read up to a position and failed with log.ErrCorrupt, and how many bytes
// are given up.
func (s *Queue) Beyond(at log.Position) (next log.Position, lost int64, err error) {
	next, err = s.log.Beyond(at)
	return next, s.log.After(at) - s.log.After(next), err
}

// Position is up to where the server has the records.
func (s *Queue) Position() log.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed
}

// Waiting is how many bytes the server is not known to have.
func (s *Queue) Waiting() int64 { return s.log.After(s.Position()) }

// After is how many bytes stand after a position.
func (s *Queue) After(at log.Position) int64 { return s.log.After(at) }

// Reading notes when the oldest data came that are not sent, in milliseconds; 0: all are.
func (s *Queue) Reading(came int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = came
}

// Lag returns how many seconds ago the oldest data came that are not sent.
func (s *Queue) Lag() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oldest == 0 {
		return 0
	}
	return max(0, s.o.Now().Sub(time.UnixMilli(s.oldest)).Seconds())
}

// Confirm notes that the server has all records before a position, and forgets them. An error means that they may be
// sent again after a restart; news is true if it was another one before.
func (s *Queue) Confirm(ctx context.Context, at log.Position) (news bool, err error) {
	s.mu.Lock()
	same := at == s.confirmed
	s.confirmed = at
	s.mu.Unlock()
	if same {
		return false, nil
	}
	if err = s.confirmState(at); err == nil {
		err = s.log.Truncate(at)
	}
	return s.keeping.Note(ctx, err), err
}

func (s *Queue) confirmState(at log.Position) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.writeState(at)
}
