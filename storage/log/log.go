package log

import (
	"errors"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/mark"
)

// Log is an open log. It is safe for concurrent use.
type Log struct {
	opts    Options
	metrics *metrics
	lock    io.Closer
	cut     int64      // bytes after the last record that Open cut off, if a record began there
	wanted  extent     // what the mark contained when the log was opened
	from    uint64     // the first segment that has the owner
	mark    *mark.Mark // nil: none is kept

	waits atomic.Pointer[error] // why the log can only be read; nil: it can be written
	tried time.Time             // when it was last tried to write; used with the turn

	// turn holds one token. The holder of the token may write: it alone uses the fields up to mu.
	turn   chan struct{}
	active *segment      // the one that is written; nil before the first Append and after a failed sync
	before Position      // the end of the chain of segments, when there is no active one
	next   uint64        // number of the next segment
	idle   *group        // empty; takes the place of gather when that is written
	took   time.Duration // of the last sync

	// mu guards what follows, and the end of the active segment.
	mu        sync.Mutex
	closed    bool
	gather    *group
	wait      groupWait  // of gather
	tickets   []*ticket  // not in use
	segments  []*segment // ascending; the active one is the last
	spares    []spare
	leftovers []spare  // files that hold nothing and could not be removed
	end       Position // after the last record on the disk

	noting sync.Mutex // guards the next, and the order of marks
	noted  bool       // that the mark cannot be written

	truncating sync.Mutex // guards the next
	unsynced   bool       // the directory, after a failed SyncDir
}

// Open opens the log in a directory, or begins one. It cuts off what a crash left of a write that
// was never confirmed, and fails with ErrLocked or ErrCorrupt. On a disk that takes no writes the
// log can be read, and is written as soon as the disk takes writes.
func Open(opts Options) (*Log, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	l := &Log{opts: opts}
	err := l.take()
	if takesNoWrites(err) {
		l = &Log{opts: opts}
		err = l.takeToRead(err)
	}
	if err != nil {
		return nil, err
	}
	l.turn, l.gather, l.idle = make(chan struct{}, 1), &group{}, &group{}
	l.metrics = newMetrics(opts.Registerer, func() float64 { return float64(l.Size()) }, l.countSegments, float64(opts.MaxBytes), float64(l.cut))
	l.turn <- struct{}{}
	return l, nil
}

// End returns the position after the last record on the disk: every record whose Append has
// returned is before it, every record whose Append begins later is not.
func (l *Log) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Holds reports whether there are records that Truncate has not forgotten.
func (l *Log) Holds() bool { return !l.extent().empty() }

// Size returns the bytes that the files take, reserved and spare ones included. It never passes
// MaxBytes.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizeLocked()
}

// SegmentsLeft returns how many more segments of SegmentBytes MaxBytes allows.
func (l *Log) SegmentsLeft() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.opts.MaxBytes
	for _, s := range l.segments {
		left -= s.size
	}
	return max(left, 0) / l.opts.SegmentBytes
}

func (l *Log) sizeLocked() int64 {
	size := totalSize(l.spares) + totalSize(l.leftovers)
	for _, s := range l.segments {
		size += s.size
	}
	return size
}

func (l *Log) countSegments() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(len(l.segments))
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// path returns the name of a segment's file.
func (l *Log) path(number uint64, suffix string) string {
	return filepath.Join(l.opts.Dir, fileName(number, suffix))
}

// Close writes what has been appended, gives the reserved bytes back and unlocks the directory.
// Later calls do nothing. An error does not concern records whose Append has returned.
func (l *Log) Close() error {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if !l.markClosed() {
		return nil
	}
	l.commit()
	var err error
	if s := l.active; s != nil {
		if err = errors.Join(shorten(s.file, s.end), s.file.Close()); err != nil {
			err = diskError("close", l.path(s.number, suffixLog), err)
		}
		l.active = nil
	}
	if l.mark != nil {
		err = errors.Join(err, l.mark.Close())
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}

// markClosed reports whether it was open.
func (l *Log) markClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.closed
	l.closed = true
	return !was
}

// shorten cuts a file and makes that durable.
func shorten(f File, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// First returns the number of the first segment that Truncate has not forgotten, or of the first
// that there will be.
func (l *Log) First() uint64 {
	if e := l.extent(); e.first > 0 {
		return e.first
	}
	return 0
}
