package log

import (
	"context"
	"errors"
	"io/fs"
)

// Truncate forgets the records before a position, as far as whole segments hold nothing else. The
// last segment always stays: its number keeps positions ascending after a restart. Truncating again
// after an error is safe.
func (l *Log) Truncate(before Position) error {
	l.truncating.Lock()
	defer l.truncating.Unlock()
	if l.Waits() != nil {
		if err := l.GoOn(context.Background()); err != nil {
			return err
		}
	}
	if err := l.tidy(); err != nil {
		l.metrics.failed(failedRemove, err)
		return diskError("tidy", l.opts.Dir, err)
	}
	for {
		s, err := l.oldestBefore(before)
		if s == nil || err != nil {
			return err
		}
		if err := l.retire(s); err != nil {
			l.metrics.failed(failedRemove, err)
			return diskError("remove", l.path(s.number, suffixLog), err)
		}
	}
}

// oldestBefore returns the oldest segment if all its records are before a position.
func (l *Log) oldestBefore(before Position) (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if len(l.segments) < 2 || l.segments[0].endPosition().Compare(before) > 0 {
		return nil, nil
	}
	return l.segments[0], nil
}

// tidy removes what could not be removed before. A segment that was given up empty is known as such
// only while its neighbours are there, so it must go before them.
func (l *Log) tidy() error {
	for {
		l.mu.Lock()
		leftovers := l.leftovers
		l.mu.Unlock()
		if len(leftovers) == 0 {
			break
		}
		if err := l.opts.FS.Remove(leftovers[0].name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.unsynced = true
		l.mu.Lock()
		l.leftovers = l.leftovers[1:]
		l.mu.Unlock()
	}
	if !l.unsynced {
		return nil
	}
	return l.syncDir()
}

func (l *Log) syncDir() error {
	err := l.opts.FS.SyncDir(l.opts.Dir)
	l.unsynced = err != nil
	return err
}

// retire removes the oldest segment, or makes it a spare file. One after the other with a SyncDir
// between, so that no crash removes a segment and keeps one before it.
func (l *Log) retire(s *segment) error {
	name := l.path(s.number, suffixLog)
	if err := l.release(s); err != nil {
		return err
	}
	if !l.wantsSpare(s) {
		if err := l.opts.FS.Remove(name); err != nil {
			return err
		}
		l.drop()
		return l.syncDir()
	}
	kept := spare{l.path(s.number, suffixSpare), s.size}
	if err := l.opts.FS.Rename(name, kept.name); err != nil {
		return err
	}
	err := l.syncDir()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = l.segments[1:]
	if err != nil {
		// it must not be written: the name under which it would come back is not known
		l.leftovers = append(l.leftovers, kept)
		return err
	}
	l.spares = append(l.spares, kept)
	return nil
}

func (l *Log) wantsSpare(s *segment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !s.ruined && s.size >= l.opts.SegmentBytes && totalSize(l.spares)+s.size <= l.opts.SpareBytes
}

// drop takes the oldest segment out of the list.
func (l *Log) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = l.segments[1:]
}
