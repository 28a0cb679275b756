package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/mark"
)

// An extent is what the mark of a log contains: there are records in the segments from the first
// one up to the end. The files alone cannot show that: a log of which segments were removed, or
// whose end was cut off, looks like one that held less.
//
//	0 | version 2 or 3 | owner, 24 bytes | from, uvarint | note | extent
//	note:   length, uvarint | bytes      in version 3 alone
//	extent: first segment | segment of the end | offset of the end      all uvarint; nothing: there are no records
//
// Version 1 is the extent alone, which does not begin with 0. Segments before from may be those of a
// version that knew no owners.
type extent struct {
	found bool // there is a mark
	owner Owner
	from  uint64
	note  []byte
	first uint64
	end   Position
}

const (
	extentVersion = 2
	extentNoted   = 3
)

func (e extent) empty() bool {
	return e.end.Segment < e.first || e.end.Segment == e.first && e.end.Offset <= segmentHeader
}

func (e extent) appendTo(b []byte) []byte {
	switch {
	case e.owner == (Owner{}):
	case len(e.note) == 0:
		b = binary.AppendUvarint(e.owner.appendTo(append(b, 0, extentVersion)), e.from)
	default:
		b = binary.AppendUvarint(e.owner.appendTo(append(b, 0, extentNoted)), e.from)
		b = append(binary.AppendUvarint(b, uint64(len(e.note))), e.note...)
	}
	if e.empty() {
		return b
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, e.first), e.end.Segment)
	return binary.AppendUvarint(b, uint64(e.end.Offset))
}

func parseExtent(b []byte) (e extent, ok bool) {
	if len(b) > 0 && b[0] == 0 {
		if e, b, ok = parseOwned(b[1:]); !ok {
			return extent{}, false
		}
	}
	if len(b) == 0 {
		return e, true
	}
	var numbers [3]uint64
	for i := range numbers {
		n, width := binary.Uvarint(b)
		if width <= 0 {
			return extent{}, false
		}
		numbers[i], b = n, b[width:]
	}
	e.first, e.end = numbers[0], Position{numbers[1], int64(numbers[2])}
	return e, len(b) == 0
}

// parseOwned parses what is before the extent of an owned log, and returns the rest.
func parseOwned(b []byte) (e extent, rest []byte, ok bool) {
	if len(b) < 1+ownerBytes || b[0] != extentVersion && b[0] != extentNoted {
		return e, nil, false
	}
	noted := b[0] == extentNoted
	e.owner, b = parseOwner(b[1:]), b[1+ownerBytes:]
	from, width := binary.Uvarint(b)
	if width <= 0 {
		return e, nil, false
	}
	if e.from, b = from, b[width:]; !noted {
		return e, b, true
	}
	size, width := binary.Uvarint(b)
	if width <= 0 || size > uint64(len(b)-width) {
		return e, nil, false
	}
	b = b[width:]
	e.note = b[:size:size]
	return e, b[size:], true
}

// readMark reads the mark of a log; without a mark the extent is empty.
func readMark(files FS, name string) (e extent, err error) {
	if name == "" {
		return extent{}, nil
	}
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return extent{}, nil
	}
	if err != nil {
		return extent{}, diskError("open", name, err)
	}
	fact, found, err := mark.Read(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return extent{}, corrupt(name, 0, "the mark of the log "+err.Error())
	}
	e, ok := parseExtent(fact)
	if !ok {
		return extent{}, corrupt(name, 0, "no mark of a log, or that of a later version")
	}
	e.found = found
	return e, nil
}

// Marked reports whether the mark in a file of that name records that the log has records.
func Marked(files FS, name string) (bool, error) {
	e, err := readMark(files, name)
	return !e.empty(), err
}

// A Marker is whose a log is, by its mark.
type Marker struct {
	Found bool // there is a mark
	Owner Owner
	Note  []byte // of Options.Note
}

// ReadMarker reads the mark in a file of that name. It changes nothing.
func ReadMarker(files FS, name string) (Marker, error) {
	e, err := readMark(files, name)
	return Marker{e.found, e.owner, e.note}, err
}

// Unmark makes a mark forget the records of a log whose files are about to be removed. That is
// durable when it returns.
func Unmark(files FS, name string) error {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diskError("open", name, err)
	}
	m, err := mark.Keep(f)
	if err != nil {
		return errors.Join(diskError("read", name, err), f.Close())
	}
	if err := errors.Join(m.PutSynced(nil), m.Close()); err != nil {
		return diskError("write", name, err)
	}
	return nil
}

// checkSegments compares the segments that are there with the mark. Nothing has been changed yet.
func (c *contents) checkSegments() error {
	want := c.wanted
	if want.empty() {
		return c.checkLeast()
	}
	n := len(c.segments)
	switch {
	case n == 0:
		return c.missing(want.first, "all records are missing")
	case c.segments[0].number > want.first:
		return c.missing(want.first, "records are missing")
	case c.segments[n-1].number < want.end.Segment:
		return c.missing(want.end.Segment, "records are missing")
	}
	for _, s := range c.segments[:n-1] {
		if s.number == want.end.Segment && s.end < want.end.Offset {
			return corrupt(c.opts.path(s.number, suffixLog), s.end, fmt.Sprintf("acknowledged records up to byte %d are missing", want.end.Offset))
		}
	}
	return c.checkLeast()
}

// checkLeast wants the log to reach what others know of it. The end of the last segment is looked
// at later.
func (c *contents) checkLeast() error {
	want, n := c.opts.AtLeast, len(c.segments)
	if want == (Position{}) || n > 0 && c.segments[n-1].number >= want.Segment {
		return nil
	}
	return fmt.Errorf("%w: %s is not there: acknowledged records up to %v are missing, according to the store's own mark", ErrCorrupt, c.opts.path(want.Segment, suffixLog), want)
}

func (c *contents) missing(segment uint64, what string) error {
	return fmt.Errorf("%w: %s is not there: %s, up to %v according to %s", ErrCorrupt, c.opts.path(segment, suffixLog), what, c.wanted.end, c.opts.MarkPath)
}

// checkEnd compares the end that was found of the last segment with the mark.
func (c *contents) checkEnd(s *segment, name string, end int64) error {
	for _, want := range []Position{c.wanted.end, c.opts.AtLeast} {
		if want == c.wanted.end && c.wanted.empty() || s.number != want.Segment || end >= want.Offset {
			continue
		}
		return corrupt(name, end, fmt.Sprintf("acknowledged records up to byte %d are missing or broken", want.Offset))
	}
	return nil
}

// A marker keeps the mark of a log that is open.
type marker struct {
	*files
	mark *mark.Mark // nil: none is kept
	from uint64     // the first segment that has the owner

	noting sync.Mutex // guards the next, and the order of marks
	noted  bool       // that the mark cannot be written
}

// openMark begins to keep the mark of a log that was loaded. A new file gets its name when it holds
// a mark.
func (m *marker) openMark(wanted extent, next uint64) error {
	name := m.opts.MarkPath
	if name == "" {
		return nil
	}
	f, err := m.opts.FS.Open(name)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		if err = m.opts.FS.MakeDir(filepath.Dir(name)); err == nil {
			f, err = m.opts.FS.Create(name + suffixNew)
		}
	}
	if err != nil {
		return diskError("open", name, err)
	}
	if m.mark, err = mark.Keep(f); err != nil {
		return errors.Join(diskError("read", name, err), f.Close())
	}
	if m.from = wanted.from; wanted.owner != m.opts.Owner {
		m.from = next // what is there is of a version that knew no owners
	}
	fact := m.fact(nil)
	if !made {
		err = m.mark.PutSynced(fact)
	} else if err = m.mark.Begin(fact); err == nil {
		if err = m.opts.FS.Rename(name+suffixNew, name); err == nil {
			err = m.opts.FS.SyncDir(filepath.Dir(name))
		}
	}
	if err != nil {
		return errors.Join(diskError("write", name, err), m.mark.Close())
	}
	return nil
}

// fact appends to b what the mark should contain.
func (m *marker) fact(b []byte) []byte {
	e := m.extent()
	if m.opts.Note != nil {
		e.note = m.opts.Note()
	}
	return e.appendTo(b)
}

// extent returns which records there are.
func (m *marker) extent() extent {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := extent{owner: m.opts.Owner, from: m.from, end: m.end}
	for _, s := range m.segments {
		if !s.retiring {
			e.first = s.number
			break
		}
	}
	return e
}

// note puts the extent into the mark. A mark that cannot be written covers less than there is,
// which does no harm.
func (m *marker) note() {
	if m.mark == nil {
		return
	}
	m.noting.Lock() // or an older extent might be put after a newer one
	defer m.noting.Unlock()
	var space [160]byte
	if err := m.mark.Put(m.fact(space[:0])); err != nil && !m.noted {
		m.noted = true
		m.opts.Logger.Warn("the mark of the log cannot be written, so a loss of records would go unnoticed; look at the disk", "file", m.opts.MarkPath, "err", err)
	}
}

// release takes a segment out of the mark, durably, before its file goes.
func (m *marker) release(s *segment) error {
	m.mu.Lock()
	s.retiring = true
	m.mu.Unlock()
	if m.mark == nil {
		return nil
	}
	m.noting.Lock()
	defer m.noting.Unlock()
	return m.mark.PutSynced(m.fact(nil))
}
