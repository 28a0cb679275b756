package carbon

import "bytes"

// MaxLine is the length of the longest line in bytes, without its newline: that of Twisted's LineOnlyReceiver, in which carbon reads.
const MaxLine = 16384

// The memory of a connection: it begins small, since most connections are idle most of the time, and grows while reads fill it.
const (
	firstBuffer = 4 << 10
	leastBuffer = 2 * MaxLine // a buffer of this size always has room after a look for lines
)

// lines cuts what a connection sends into lines. Only a newline ends one, not a carriage return.
type lines struct {
	max      int // bytes that buf may grow to, at least leastBuffer
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
	size := min(max(firstBuffer, 2*cap(l.buf)), l.max)
	if size > cap(l.buf) {
		l.buf = append(make([]byte, 0, size), l.buf...)
	}
}

// filled says that n bytes of the room were read.
func (l *lines) filled(n int) {
	if l.buf = l.buf[:len(l.buf)+n]; len(l.buf) == cap(l.buf) && l.start == 0 {
		l.grow()
	}
}

// next returns the next line without its newline; false if it is not there yet. The line is valid until the next call of room or filled.
// Of a line that is too long it returns the beginning, once.
func (l *lines) next() (line []byte, reason Reason, ok bool) {
	for {
		rest := l.buf[l.start:]
		n := bytes.IndexByte(rest, '\n')
		switch {
		case n >= 0 && l.skipping:
			l.start, l.skipping = l.start+n+1, false
		case n > MaxLine:
			l.start += n + 1
			return rest[:MaxLine], ReasonTooLong, true
		case n >= 0:
			l.start += n + 1
			return rest[:n], 0, true
		case l.skipping:
			l.start = len(l.buf)
			return nil, 0, false
		case len(rest) > MaxLine:
			l.start, l.skipping = len(l.buf), true
			return rest[:MaxLine], ReasonTooLong, true
		default:
			return nil, 0, false
		}
	}
}

// unfinished is what remains when no more will come.
func (l *lines) unfinished() []byte {
	return l.buf[l.start:]
}
