package log

// Beyond returns where a Tail goes on that has read up to a position and failed with ErrCorrupt: at the next record
// that can surely be read, in the same segment or a later one, or at the end.
func (l *Log) Beyond(at Position) (Position, error) {
	s, begin := l.unread(at)
	if s == nil || at.Compare(begin) < 0 { // what stood before the first segment is missing
		return begin, nil
	}
	name := l.path(s.number, suffixLog)
	f, err := l.opts.FS.Open(name)
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

// unread returns the first segment with records after a position, and the end of what comes before it. Without one it
// returns nil and the end of the log.
func (l *Log) unread(at Position) (s *segment, begin Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if !s.empty() && s.endPosition().Compare(at) > 0 {
			return &segment{number: s.number, end: s.end}, s.before
		}
	}
	return nil, l.end
}
