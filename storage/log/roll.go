package log

// segmentFor returns the active segment, a new one if size bytes do not fit. The caller has the
// turn.
func (l *Log) segmentFor(size int64) (*segment, error) {
	if s := l.active; s != nil && s.end+size <= s.size {
		return s, nil
	}
	s, err := l.create(max(l.opts.SegmentBytes, segmentHeader+size))
	if err != nil {
		return nil, err
	}
	l.sealActive()
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.mu.Unlock()
	l.active = s
	return s, nil
}

// create begins a segment of at least size bytes. Its number is never given again: after an error
// its file may come back with the next crash, and nothing must point to it.
func (l *Log) create(size int64) (*segment, error) {
	if l.opts.BeforeSegment != nil {
		if err := l.opts.BeforeSegment(); err != nil {
			return nil, err
		}
	}
	s := &segment{number: l.next, before: l.before, end: segmentHeader, size: size}
	if l.active != nil {
		s.before = l.active.endPosition()
	}
	l.next++
	name, err := l.file(s)
	if err == nil {
		err = l.begin(s, name)
	}
	if err != nil {
		l.metrics.failed(failedCreate, err)
		return nil, diskError("create", l.opts.path(s.number, suffixLog), err)
	}
	return s, nil
}

// file opens a file for a segment under a name that Open ignores: a spare one or a new one.
func (l *Log) file(s *segment) (name string, err error) {
	if old, ok := l.takeSpare(s.size); ok {
		s.size = old.size
		if s.file, err = l.opts.FS.Open(old.name); err != nil {
			l.remove(old.name, old.size)
		}
		return old.name, err
	}
	if err := l.makeRoom(s.size); err != nil {
		return "", err
	}
	name = l.opts.path(s.number, suffixNew)
	if s.file, err = l.opts.FS.Create(name); err != nil {
		return "", err
	}
	if err = s.file.Allocate(s.size); err != nil {
		l.abandon(s, name)
	}
	return name, err
}

// begin makes the file the segment: its header is on the disk before its name.
func (l *Log) begin(s *segment, name string) error {
	_, err := s.file.WriteAt(segmentHead(s.number, s.before, l.opts.Owner), 0)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		l.abandon(s, name)
		return err
	}
	final := l.opts.path(s.number, suffixLog)
	if err = l.opts.FS.Rename(name, final); err == nil {
		name = final
		err = l.opts.FS.SyncDir(l.opts.Dir)
	}
	if err != nil {
		l.sealActive()
		l.abandon(s, name)
	}
	return err
}

// sealActive ends the active segment where it is. The segment must not grow once the header of a
// later segment, which contains that end, may be on the disk: a crash can bring back a file that
// was removed.
func (l *Log) sealActive() {
	if s := l.active; s != nil {
		l.close(s)
		l.active, l.before = nil, s.endPosition()
	}
}

// cutBack removes a failed write from the active segment, which then continues at its last good
// end. If that fails, the segment is given up.
func (l *Log) cutBack(s *segment) {
	err := shorten(s.file, s.end)
	if err == nil {
		err = s.file.Allocate(s.size)
	}
	if err != nil {
		l.opts.Logger.Warn("a segment of the log is not cut back after a failed write, and takes space until a restart; look at the disk", "file", l.opts.path(s.number, suffixLog), "err", err)
		l.giveUp(s)
	}
}

// giveUp ends the active segment for good. What was written after its end does not count: the
// header of the next segment contains that end.
func (l *Log) giveUp(s *segment) {
	l.active = nil
	l.before = s.endPosition()
	if s.empty() {
		l.before = s.before
		l.abandon(s, l.opts.path(s.number, suffixLog))
		l.forget(s)
		return
	}
	size := s.end
	if err := shorten(s.file, s.end); err != nil {
		size = s.size
	}
	l.close(s)
	l.mu.Lock()
	s.size, s.ruined = size, true
	l.mu.Unlock()
}

// abandon closes and removes a file that holds nothing.
func (l *Log) abandon(s *segment, name string) {
	l.close(s)
	l.remove(name, s.size)
}

// Roll begins a new segment, unless the last one holds nothing, so that Truncate can remove what
// has been appended until now.
func (l *Log) Roll() error {
	<-l.commits.turn
	defer func() { l.commits.turn <- struct{}{} }()
	if l.commits.isClosed() {
		return ErrClosed
	}
	if err := l.tryWriting(); err != nil {
		return err
	}
	if s := l.active; s != nil && s.end == segmentHeader {
		return nil
	}
	s, err := l.create(l.opts.SegmentBytes)
	if err != nil {
		return err
	}
	l.sealActive()
	l.active = s
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, s)
	l.end = s.endPosition()
	return nil
}
