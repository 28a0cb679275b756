package opentsdb

import "bytes"

// The memory of a connection: it begins small, since most connections are idle most of the time, and grows while reads fill it.
const firstBuffer = 4 << 10

// lines cuts what a connection sends into lines, as Netty's LineBasedFrameDecoder does: a newline ends one, with a carriage return
// before it perhaps.
type lines struct {
	max      int // bytes that buf may grow to, at least twice longest
	longest  int // bytes of a line
	buf      []byte
	start    int  // buf[start:] has been read and not been cut
	skipping bool // what comes next belongs to a line that is too long and was returned already
}

// room returns memory for bytes to be read, and is followed by filled.
func (l *lines) room() []byte {
	rest := copy(l.buf, l.buf[l.start:])
	l.buf, l.start = l.buf[:rest], 0
	if len(l.buf) == cap(l.buf) {
		l.grow()
	}
	return l.buf[len(l.buf):cap(l.buf)]
}

func (l *lines) grow() {
	if size := min(max(firstBuffer, 2*cap(l.buf)), l.max); size > cap(l.buf) {
		l.buf = append(make([]byte, 0, size), l.buf...)
	}
}

// filled says that n bytes of the room were read.
func (l *lines) filled(n int) {
	if l.buf = l.buf[:len(l.buf)+n]; len(l.buf) == cap(l.buf) && l.start == 0 {
		l.grow()
	}
}

// next returns the next line; false if it is not there yet. The line is valid until the next call of room or filled, and may be written
// to. Of a line that is too long it returns the beginning, once.
func (l *lines) next() (line []byte, tooLong, ok bool) {
	for {
		rest := l.buf[l.start:]
		n := bytes.IndexByte(rest, '\n')
		switch {
		case n < 0 && !l.skipping && len(rest) <= l.longest+1: // with a carriage return
			return nil, false, false
		case n < 0 && l.skipping:
			l.start = len(l.buf)
			return nil, false, false
		case n < 0:
			l.start, l.skipping = len(l.buf), true
			return rest[:l.longest], true, true
		}
		l.start += n + 1
		if l.skipping {
			l.skipping = false
			continue
		}
		if line = bytes.TrimSuffix(rest[:n], carriageReturn); len(line) > l.longest {
			return line[:l.longest], true, true
		}
		return line, false, true
	}
}

var carriageReturn = []byte{'\r'}

// unfinished is how much remains when no more will come.
func (l *lines) unfinished() int { return len(l.buf) - l.start }
