package netserver

import "bytes"

// FirstBuffer is the memory in bytes that Lines begins with: most connections are idle most of the
// time.
const FirstBuffer = 4 << 10

// Lines cuts what a connection sends into lines. A newline ends one. Its memory grows while reads
// fill it.
type Lines struct {
	Max        int  // bytes of memory, at least two lines
	Longest    int  // bytes of a line
	DropReturn bool // a carriage return before the newline belongs to the end, else to the line
	// Budget, if any, bounds the memory of all connections beyond two lines each. When it is used
	// up, memory does not grow. Close gives back what was taken.
	Budget *Gate

	buf      []byte
	start    int  // buf[start:] has been read and not been cut
	taken    int  // bytes of the budget
	skipping bool // what comes next belongs to a line that is too long and was returned already
}

// Room returns memory for bytes to be read, and is followed by Filled. What was returned before is
// overwritten.
func (l *Lines) Room() []byte {
	rest := copy(l.buf, l.buf[l.start:])
	l.buf, l.start = l.buf[:rest], 0
	if len(l.buf) == cap(l.buf) {
		l.grow()
	}
	return l.buf[len(l.buf):cap(l.buf)]
}

func (l *Lines) grow() {
	if size := min(max(FirstBuffer, 2*cap(l.buf)), l.Max); size > cap(l.buf) && l.affords(size) {
		l.buf = append(make([]byte, 0, size), l.buf...)
	}
}

// affords takes memory of so many bytes from the budget.
func (l *Lines) affords(size int) bool {
	const ends = 2 // bytes of the end of a line
	if l.Budget == nil || cap(l.buf) < max(FirstBuffer, 2*(l.Longest+ends)) {
		return true
	}
	more := size - cap(l.buf)
	if !l.Budget.take(int64(more)) {
		return false
	}
	l.taken += more
	return true
}

// Close gives back what was taken from the budget. The lines must not be used afterwards.
func (l *Lines) Close() {
	if l.Budget != nil {
		l.Budget.bytes.Add(-int64(l.taken))
		l.taken = 0
	}
}

// Filled reports that n bytes of the room were read.
func (l *Lines) Filled(n int) {
	if l.buf = l.buf[:len(l.buf)+n]; len(l.buf) == cap(l.buf) && l.start == 0 {
		l.grow()
	}
}

// Swap uses other memory for what is read next, and copies the rest to it, so lines that were
// returned stay valid. It returns the memory that it had.
func (l *Lines) Swap(other []byte) []byte {
	had := l.buf
	l.buf, l.start = append(other[:0], l.buf[l.start:]...), 0
	return had
}

// Next returns the next line without its end; false if it is not there yet. The line is valid until
// the next Room, and may be written to. Of a line that is too long it returns the beginning, once.
func (l *Lines) Next() (line []byte, tooLong, ok bool) {
	longest := l.Longest // of what has no end yet
	if l.DropReturn {
		longest++
	}
	for {
		rest := l.buf[l.start:]
		n := bytes.IndexByte(rest, '\n')
		switch {
		case n < 0 && l.skipping:
			l.start = len(l.buf)
			return nil, false, false
		case n < 0 && len(rest) <= longest:
			return nil, false, false
		case n < 0:
			l.start, l.skipping = len(l.buf), true
			return rest[:l.Longest], true, true
		}
		l.start += n + 1
		if l.skipping {
			l.skipping = false
			continue
		}
		if line = rest[:n]; l.DropReturn {
			line = bytes.TrimSuffix(line, carriageReturn)
		}
		if len(line) > l.Longest {
			return line[:l.Longest], true, true
		}
		return line, false, true
	}
}

var carriageReturn = []byte{'\r'}

// Rest returns what has been read and not been cut. It is empty, or begins with a line, whose end
// may be missing.
func (l *Lines) Rest() []byte {
	if l.skipping {
		return nil
	}
	return l.buf[l.start:]
}

// Skip cuts n bytes of Rest off: whole lines with their ends.
func (l *Lines) Skip(n int) { l.start += n }

// Unfinished returns the line without an end. It is called when there are no more lines. What
// follows a line that was too long is not part of it.
func (l *Lines) Unfinished() []byte { return l.buf[l.start:] }
