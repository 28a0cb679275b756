package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// A log whose disk takes no writes when it is opened (there is no space for its lock or its mark,
// or the file system is read-only) is opened to be read: Replay returns all records and no file is
// changed. An Append tries to open it for writing, at most once in tryEvery.

// tryEvery is how often that is tried.
const tryEvery = time.Second

// takesNoWrites reports whether an error is that of a disk on which nothing can be written for now.
func takesNoWrites(err error) bool { return noSpace(err) || errors.Is(err, syscall.EROFS) }

// take opens the log for writing.
func (l *Log) take() error {
	if err := l.opts.FS.MakeDir(l.opts.Dir); err != nil {
		return diskError("make", l.opts.Dir, err)
	}
	had := l.lock
	if had == nil {
		if err := l.takeLock(); err != nil {
			return err
		}
	}
	c := contents{opts: l.opts}
	err := c.read()
	if err == nil {
		l.hold(&c)
		err = l.marker.openMark(c.wanted, c.next)
	}
	if err != nil && had == nil {
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return err
}

// hold takes over what a directory has.
func (l *Log) hold(c *contents) {
	l.opts = c.opts
	l.cut, l.next, l.before = c.cut, c.next, c.end
	l.segments, l.spares, l.end = c.segments, c.spares, c.end
}

func (l *Log) takeLock() (err error) {
	name := filepath.Join(l.opts.Dir, lockName)
	if l.lock, err = l.opts.FS.Lock(name); err != nil {
		return diskError("lock", name, err)
	}
	return nil
}

// takeToRead opens the log to be read, because of the error that opening it for writing met. Where
// no lock can be made, no process writes.
func (l *Log) takeToRead(why error) error {
	l.waits.Store(&why)
	if err := l.takeLock(); err != nil && !takesNoWrites(err) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := contents{opts: l.opts, readOnly: true}
	err := c.read()
	if err != nil && l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	if err == nil {
		l.hold(&c)
		l.opts.Logger.Error("the disk of the log takes no writes, which are refused until it does, and what is there is read; free space or repair the disk", "path", l.opts.Dir, "err", why)
	}
	return err
}

// Waits returns why the log can only be read; nil: it can be written.
func (l *Log) Waits() error {
	if err := l.waits.Load(); err != nil {
		return *err
	}
	return nil
}

// GoOn opens a log that could only be read for writing, if its disk takes writes again.
func (l *Log) GoOn(ctx context.Context) error {
	select {
	case <-l.commits.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.commits.turn <- struct{}{} }()
	return l.tryWriting()
}

// tryWriting opens the log for writing when that is due. The caller has the turn.
func (l *Log) tryWriting() error {
	switch now := l.opts.Now(); {
	case l.Waits() == nil:
		return nil
	case l.commits.isClosed():
		return ErrClosed
	case now.Sub(l.tried) < tryEvery:
		return l.Waits()
	default:
		l.tried = now
	}
	next := newLog(l.opts)
	next.lock = l.lock
	err := next.take()
	if err == nil && next.end != l.end {
		err = errors.Join(fmt.Errorf("%w: %s ends at %v, and ended at %v when it could only be read: start again", ErrCorrupt, l.opts.Dir, next.end, l.end), next.letGo(l))
	}
	if err != nil {
		l.waits.Store(&err)
		return err
	}
	l.adopt(next)
	l.opts.Logger.Info("the disk of the log takes writes again", "path", l.opts.Dir)
	return nil
}

// letGo releases the files that another log does not have.
func (l *Log) letGo(but *Log) (err error) {
	if l.marker.mark != nil {
		err = l.marker.mark.Close()
	}
	if l.lock != but.lock {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}

// adopt takes over what was opened for writing.
func (l *Log) adopt(next *Log) {
	l.opts, l.marker.from = next.opts, next.marker.from
	l.lock, l.marker.mark, l.cut, l.before, l.next = next.lock, next.marker.mark, next.cut, next.before, next.next
	l.mu.Lock()
	l.segments, l.spares, l.leftovers = next.segments, next.spares, next.leftovers
	l.mu.Unlock()
	l.waits.Store(nil)
}
