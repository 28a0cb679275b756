package log

import "slices"

// Beyond returns where a Tail goes on that has read up to a position and failed with ErrCorrupt: at the next record
// that can surely be read, in the same segment or a later one, or at the end.
func (d *files) Beyond(at Position) (Position, error) {
	segments, err := d.segmentsFrom(Position{})
	if err != nil {
		return at, err
	}
	n := slices.IndexFunc(segments, func(s segment) bool { return !s.empty() && s.endPosition().Compare(at) > 0 })
	if n < 0 {
		return d.End(), nil
	}
	s := segments[n]
	if at.Compare(s.before) < 0 { // what stood before the first segment is missing
		return s.before, nil
	}
	name := d.opts.path(s.number, suffixLog)
	f, err := d.opts.FS.Open(name)
	if err != nil {
		return at, diskError("open", name, err)
	}
	defer f.Close()
	broken := int64(segmentHeader)
	if at.Segment == s.number {
		broken = at.Offset
	}
	next, err := newReader(f, s.number, s.end).witness(broken)
	switch {
	case err != nil:
		return at, diskError("read", name, err)
	case next == 0:
		return s.endPosition(), nil
	}
	return Position{s.number, next}, nil
}
