package log

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Log is an open log. It is safe for concurrent use.
type Log struct {
	files
	marker marker
	lock   io.Closer
	cut    int64 // bytes after the last record that Open cut off, if a record began there

	waits atomic.Pointer[error] // why the log can only be read; nil: it can be written
	tried time.Time             // when it was last tried to write; used with the turn

	commits commits
	// The holder of the turn of commits alone uses these.
	active *segment // the one that is written; nil before the first Append and after a failed sync
	before Position // the end of the chain of segments, when there is no active one
	next   uint64   // number of the next segment

	truncating sync.Mutex // guards files.unsynced
}

// newLog returns a log that is not open.
func newLog(opts Options) *Log {
	l := &Log{files: files{opts: opts}}
	l.marker.files = &l.files
	return l
}

// Open opens the log in a directory, or begins one. It cuts off what a crash left of a write that
// was never confirmed, and fails with ErrLocked or ErrCorrupt. On a disk that takes no writes the
// log can be read, and is written as soon as the disk takes writes.
func Open(opts Options) (*Log, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	l := newLog(opts)
	err := l.take()
	if takesNoWrites(err) {
		l = newLog(opts)
		err = l.takeToRead(err)
	}
	if err != nil {
		return nil, err
	}
	l.commits = commits{
		most: opts.GroupBytes, write: l.writeGroup, turn: make(chan struct{}, 1), gather: &group{}, idle: &group{},
	}
	l.metrics = newMetrics(opts.Registerer, func() float64 { return float64(l.Size()) }, l.countSegments, float64(opts.MaxBytes), float64(l.cut))
	l.commits.turn <- struct{}{}
	return l, nil
}

// Holds reports whether there are records that Truncate has not forgotten.
func (l *Log) Holds() bool { return !l.marker.extent().empty() }

// Close writes what has been appended, gives the reserved bytes back and unlocks the directory.
// Later calls do nothing. An error does not concern records whose Append has returned.
func (l *Log) Close() error {
	<-l.commits.turn
	defer func() { l.commits.turn <- struct{}{} }()
	if !l.commits.markClosed() {
		return nil
	}
	l.commits.commit()
	var err error
	if s := l.active; s != nil {
		if err = errors.Join(shorten(s.file, s.end), s.file.Close()); err != nil {
			err = diskError("close", l.opts.path(s.number, suffixLog), err)
		}
		l.active = nil
	}
	if l.marker.mark != nil {
		err = errors.Join(err, l.marker.mark.Close())
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
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
	return l.marker.extent().first
}
