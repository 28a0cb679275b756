package log

import (
	"context"
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
		if l.commits.isClosed() {
			return ErrClosed
		}
		s := l.oldestBefore(before)
		if s == nil {
			return nil
		}
		if err := l.retire(s); err != nil {
			l.metrics.failed(failedRemove, err)
			return diskError("remove", l.opts.path(s.number, suffixLog), err)
		}
	}
}

// retire removes the oldest segment, or makes it a spare file. One after the other with a SyncDir
// between, so that no crash removes a segment and keeps one before it.
func (l *Log) retire(s *segment) error {
	name := l.opts.path(s.number, suffixLog)
	if err := l.marker.release(s); err != nil {
		return err
	}
	if !l.wantsSpare(s) {
		if err := l.opts.FS.Remove(name); err != nil {
			return err
		}
		l.drop()
		return l.syncDir()
	}
	kept := spare{l.opts.path(s.number, suffixSpare), s.size}
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
