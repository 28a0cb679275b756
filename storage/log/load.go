package log

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// contents is what a directory has of a log, and what the log's mark contains.
type contents struct {
	opts     Options // with the owner that was found
	readOnly bool    // nothing is changed
	wanted   extent  // what the mark contains
	cut      int64   // bytes after the last record that were cut off, if a record began there
	next     uint64  // number of the next segment
	segments []*segment
	spares   []spare
	end      Position // after the last record
}

// read reads the mark and then the directory.
func (c *contents) read() error {
	if err := c.readMark(); err != nil {
		return err
	}
	return c.load()
}

// load finds the segments and spare files of the directory and the end of the last segment.
func (c *contents) load() error {
	// What an earlier process renamed and could not sync must not be built upon.
	if !c.readOnly {
		if err := c.opts.FS.SyncDir(c.opts.Dir); err != nil {
			return diskError("sync", c.opts.Dir, err)
		}
	}
	found, err := c.list()
	if err != nil {
		return err
	}
	if err := c.checkOwner(found); err != nil {
		return err
	}
	if err := c.chain(found); err != nil {
		return err
	}
	if err := errors.Join(c.checkCut(), c.checkSegments()); err != nil {
		return err
	}
	if n := len(c.segments); n > 0 {
		last := c.segments[n-1]
		if err := c.recover(last); err != nil {
			return err
		}
		c.end = last.endPosition()
	}
	return nil
}

// list reads the headers of all segments, notes the spare files and removes files in the making.
func (c *contents) list() ([]*segment, error) {
	names, err := c.opts.FS.List(c.opts.Dir)
	if c.readOnly && errors.Is(err, fs.ErrNotExist) {
		err = nil // it could not be made
	}
	if err != nil {
		return nil, diskError("list", c.opts.Dir, err)
	}
	slices.Sort(names)
	var found []*segment
	for _, name := range names {
		number, suffix, ok := parseFileName(name)
		if !ok {
			continue
		}
		c.next = max(c.next, number)
		switch suffix {
		case suffixLog:
			s, err := c.inspect(number)
			if err != nil {
				return nil, err
			}
			if left, err := c.passOver(s); err != nil {
				return nil, err
			} else if !left {
				found = append(found, s)
			}
		default:
			if err := c.keepSpare(filepath.Join(c.opts.Dir, name), suffix); err != nil {
				return nil, err
			}
		}
	}
	c.next++
	return found, nil
}

// keepSpare keeps a spare file if there is use for it and removes the others.
func (c *contents) keepSpare(name, suffix string) error {
	if c.readOnly {
		return nil
	}
	size, err := c.fileSize(name)
	if err != nil {
		return err
	}
	if suffix == suffixSpare && size >= c.opts.SegmentBytes && totalSize(c.spares)+size <= c.opts.SpareBytes {
		c.spares = append(c.spares, spare{name, size})
		return nil
	}
	if err := c.opts.FS.Remove(name); err != nil {
		return diskError("remove", name, err)
	}
	return nil
}

func (c *contents) fileSize(name string) (int64, error) {
	f, err := c.opts.FS.Open(name)
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
func (c *contents) inspect(number uint64) (*segment, error) {
	name := c.opts.path(number, suffixLog)
	f, err := c.opts.FS.Open(name)
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
func (c *contents) chain(found []*segment) error {
	for len(found) > 0 {
		s := found[len(found)-1]
		found = found[:len(found)-1]
		if n := len(c.segments); n > 0 {
			before := c.segments[n-1].before
			switch {
			case s.number > before.Segment:
				if err := c.disown(s); err != nil {
					return err
				}
				continue
			case s.number < before.Segment:
				return corrupt(c.opts.path(before.Segment, suffixLog), 0, "missing between others")
			case before.Offset < segmentHeader || before.Offset > s.size:
				return corrupt(c.opts.path(s.number, suffixLog), s.size, fmt.Sprintf("ends before %d", before.Offset))
			}
			s.end = before.Offset
		}
		c.segments = append(c.segments, s)
	}
	slices.Reverse(c.segments)
	return nil
}

func (c *contents) disown(s *segment) error {
	if c.readOnly {
		return nil
	}
	name := c.opts.path(s.number, suffixLog)
	c.opts.Logger.Info("removing a segment that was given up empty", "file", name)
	if err := c.opts.FS.Remove(name); err != nil {
		return diskError("remove", name, err)
	}
	return nil
}

// recover finds the end of the last segment and cuts the rest off: reserved bytes, and what a crash
// left of a write.
func (c *contents) recover(s *segment) error {
	name := c.opts.path(s.number, suffixLog)
	f, err := c.opts.FS.Open(name)
	if err != nil {
		return diskError("open", name, err)
	}
	defer f.Close()
	r := newReader(f, s.number, s.size)
	if err := r.findEnd(name); err != nil {
		return err
	}
	if err := c.checkEnd(s, name, r.offset); err != nil {
		return err
	}
	if c.readOnly {
		s.end = r.offset
		return nil
	}
	if r.torn() {
		c.cut = s.size - r.offset
		c.opts.Logger.Warn("log ends in an incomplete write that was never acknowledged; it is cut off, nothing is to be done", "file", name, "offset", r.offset)
	}
	if r.offset < s.size {
		c.opts.Logger.Info("log was not closed: cut after its last record", "file", name, "offset", r.offset, "bytes", s.size-r.offset)
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
