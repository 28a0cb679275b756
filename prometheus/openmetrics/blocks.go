package openmetrics

import (
	"bytes"
	"errors"
	"io"
)

// blockBytes is how much text is parsed at once.
const blockBytes = 128 << 10

// blocks cuts a text into blocks of whole lines. Memory grows to one line more than a block.
type blocks struct {
	r         io.Reader
	lineBytes int
	tooLong   func(line int, text []byte) error

	buf   []byte // what was read and not returned
	given int    // bytes at the front of buf that next returned
	line  int    // lines that were returned or left out
	end   error  // of r
	skips bool   // the rest of a line that is too long
}

// next returns whole lines and the number of the first one, from 1. They are valid until the next
// call. The last line may have no line break. An error comes with the lines before it.
func (b *blocks) next() (lines []byte, first int, err error) {
	b.buf = b.buf[:copy(b.buf, b.buf[b.given:])]
	b.given = 0
	for {
		at := bytes.LastIndexByte(b.buf, '\n') + 1
		switch {
		case b.skips:
			b.skip()
		case b.end != nil:
			return b.give(len(b.buf)), b.firstOf(), b.end
		case at > 0 && len(b.buf) >= blockBytes:
			return b.give(at), b.firstOf(), nil
		case at == 0 && len(b.buf) > b.lineBytes:
			if err := b.tooLong(b.line+1, b.buf); err != nil {
				return nil, 0, err
			}
			b.line++
			b.skips = true
		default:
			b.fill()
		}
	}
}

// give returns the first n bytes of buf, and counts their lines.
func (b *blocks) give(n int) []byte {
	b.given = n
	lines := b.buf[:n:n]
	b.line += bytes.Count(lines, []byte{'\n'})
	if n > 0 && lines[n-1] != '\n' {
		b.line++
	}
	return lines
}

// firstOf returns the number of the first line that give returned.
func (b *blocks) firstOf() int {
	lines := b.buf[:b.given]
	n := bytes.Count(lines, []byte{'\n'})
	if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		n++
	}
	return b.line - n + 1
}

// skip drops what belongs to the line that is too long.
func (b *blocks) skip() {
	at := bytes.IndexByte(b.buf, '\n')
	if at >= 0 {
		b.buf = b.buf[:copy(b.buf, b.buf[at+1:])]
		b.skips = false
		return
	}
	b.buf = b.buf[:0]
	if b.end != nil {
		b.skips = false
		return
	}
	b.fill()
}

// fill reads more.
func (b *blocks) fill() {
	if cap(b.buf)-len(b.buf) < blockBytes {
		grown := make([]byte, len(b.buf), max(2*cap(b.buf), len(b.buf)+2*blockBytes))
		copy(grown, b.buf)
		b.buf = grown
	}
	n, err := b.r.Read(b.buf[len(b.buf):cap(b.buf)])
	b.buf = b.buf[:len(b.buf)+n]
	if err != nil {
		b.end = err
		if errors.Is(err, io.EOF) {
			b.end = io.EOF
		}
	}
}
