package log

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// load finds the segments and spare files of the directory and the end of the last segment.
func (l *Log) load() error {
	// What an earlier process renamed and could not sync must not be built upon.
	if l.Waits() == nil {
		if err := l.opts.FS.SyncDir(l.opts.Dir); err != nil {
			return diskError("sync", l.opts.Dir, err)
		}
	}
	found, err := l.list()
	if err != nil {
		return err
	}
	if err := l.checkOwner(found); err != nil {
		return err
	}
	if err := l.chain(found); err != nil {
		return err
	}
	if err := errors.Join(l.checkCut(), l.checkSegments()); err != nil {
		return err
	}
	if n := len(l.segments); n > 0 {
		last := l.segments[n-1]
		if err := l.recover(last); err != nil {
			return err
		}
		l.end, l.before = last.endPosition(), last.endPosition()
	}
	return nil
}

// list reads the headers of all segments, notes the spare files and removes files in the making.
func (l *Log) list() ([]*segment, error) {
	names, err := l.opts.FS.List(l.opts.Dir)
	if l.Waits() != nil && errors.Is(err, fs.ErrNotExist) {
		err = nil // it could not be made
	}
	if err != nil {
		return nil, diskError("list", l.opts.Dir, err)
	}
	slices.Sort(names)
	var found []*segment
	for _, name := range names {
		number, suffix, ok := parseFileName(name)
		if !ok {
			continue
		}
		l.next = max(l.next, number)
		switch suffix {
		case suffixLog:
			s, err := l.inspect(number)
			if err != nil {
				return nil, err
			}
			if left, err := l.passOver(s); err != nil {
				return nil, err
			} else if !left {
				found = append(found, s)
			}
		default:
			if err := l.keepSpare(filepath.Join(l.opts.Dir, name), suffix); err != nil {
				return nil, err
			}
		}
	}
	l.next++
	return found, nil
}

// keepSpare keeps a spare file if there is use for it and removes the others.
func (l *Log) keepSpare(name, suffix string) error {
	if l.Waits() != nil {
		return nil
	}
	size, err := l.fileSize(name)
	if err != nil {
		return err
	}
	if suffix == suffixSpare && size >= l.opts.SegmentBytes && totalSize(l.spares)+size <= l.opts.SpareBytes {
		l.spares = append(l.spares, spare{name, size})
		return nil
	}
	if err := l.opts.FS.Remove(name); err != nil {
		return diskError("remove", name, err)
	}
	return nil
}

func (l *Log) fileSize(name string) (int64, error) {
	f, err := l.opts.FS.Open(name)
	if err != nil {
		return 0, diskError("open", name, err)
	}
	size, err := f.Size()
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, diskError("read", name, err)
	}
	return size, nil
}

// inspect reads the header of a segment. It was synced before the file had this name, so a bad one
// is damage.
func (l *Log) inspect(number uint64) (*segment, error) {
	name := l.path(number, suffixLog)
	f, err := l.opts.FS.Open(name)
	if err != nil {
		return nil, diskError("open", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, diskError("read", name, err)
	}
	head := make([]byte, min(size, segmentHeader))
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), head); err != nil {
		return nil, diskError("read", name, err)
	}
	s, err := parseSegmentHeader(head)
	switch {
	case errors.Is(err, errVersion):
		return nil, fmt.Errorf("%s: %w", name, err)
	case err != nil:
		return nil, corrupt(name, 0, err.Error())
	case s.number != number:
		return nil, corrupt(name, 0, fmt.Sprintf("header of segment %016x", s.number))
	}
	s.size = size
	return s, nil
}

// chain follows the headers from the last segment to the oldest. A segment that none points to was
// given up before a record in it was acknowledged.
func (l *Log) chain(found []*segment) error {
	for len(found) > 0 {
		s := found[len(found)-1]
		found = found[:len(found)-1]
		if n := len(l.segments); n > 0 {
			before := l.segments[n-1].before
			switch {
			case s.number > before.Segment:
				if err := l.disown(s); err != nil {
					return err
				}
				continue
			case s.number < before.Segment:
				return corrupt(l.path(before.Segment, suffixLog), 0, "missing between others")
			case before.Offset < segmentHeader || before.Offset > s.size:
				return corrupt(l.path(s.number, suffixLog), s.size, fmt.Sprintf("ends before %d", before.Offset))
			}
			s.end = before.Offset
		}
		l.segments = append(l.segments, s)
	}
	slices.Reverse(l.segments)
	return nil
}

func (l *Log) disown(s *segment) error {
	if l.Waits() != nil {
		return nil
	}
	name := l.path(s.number, suffixLog)
	l.opts.Logger.Info("removing a segment that was given up empty", "file", name)
	if err := l.opts.FS.Remove(name); err != nil {
		return diskError("remove", name, err)
	}
	return nil
}

// recover finds the end of the last segment and cuts the rest off: reserved bytes, and what a crash
// left of a write.
func (l *Log) recover(s *segment) error {
	name := l.path(s.number, suffixLog)
	f, err := l.opts.FS.Open(name)
	if err != nil {
		return diskError("open", name, err)
	}
	defer f.Close()
	r := newReader(f, s.number, s.size)
	if err := r.findEnd(name); err != nil {
		return err
	}
	if err := l.checkEnd(s, name, r.offset); err != nil {
		return err
	}
	if l.Waits() != nil {
		s.end = r.offset
		return nil
	}
	if r.torn() {
		l.cut = s.size - r.offset
		l.opts.Logger.Warn("log ends in an incomplete write that was never acknowledged; it is cut off, nothing is to be done", "file", name, "offset", r.offset)
	}
	if r.offset < s.size {
		l.opts.Logger.Info("log was not closed: cut after its last record", "file", name, "offset", r.offset, "bytes", s.size-r.offset)
	}
	if err := r.rewrite(f); err != nil {
		return diskError("rewrite", name, err)
	}
	if err := shorten(f, r.offset); err != nil {
		return diskError("cut", name, err)
	}
	s.end, s.size = r.offset, r.offset
	return nil
}

// torn reports whether the header of one more record follows the last: what was reserved, or held
// by the file in an earlier life, is none.
func (r *reader) torn() bool {
	b, err := r.bytes(r.offset, recordHeader)
	if err != nil {
		return false
	}
	_, ok := parseHeader(b, Position{r.number, r.offset})
	return ok
}

// rewrite writes the last group again, so that the sync that follows is one of pages that no
// earlier sync has failed. The process before may have seen one fail and ended; then the system
// still shows what the disk does not have. Earlier groups had been synced.
func (r *reader) rewrite(f File) error {
	const piece = 1 << 20
	for at := r.group; at < r.offset; at += piece {
		b, err := r.bytes(at, min(piece, r.offset-at))
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}

// findEnd leaves the reader after the last record. It is ErrCorrupt if one that had been
// acknowledged is broken.
func (r *reader) findEnd(name string) error {
	for {
		_, _, err := r.next()
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && r.offset == r.limit:
			return nil
		case !errors.Is(err, errBroken):
			return diskError("read", name, err)
		}
		switch later, err := r.witness(r.offset); {
		case err != nil:
			return diskError("read", name, err)
		case later > 0:
			return corrupt(name, r.offset, fmt.Sprintf("broken record, and one at byte %d that was written after it had been synced", later))
		}
		return nil
	}
}
