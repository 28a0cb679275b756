package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A cutter cuts text into blocks of whole lines.
type cutter struct {
	text io.Reader
	rest []byte // read, and part of no block yet
	err  error
}

// errLongLine ends a text.
var errLongLine = errors.New("a line is too long")

// next returns the next block in the memory of b, which bounds its size. At the end of the text the
// block may be empty, and the error is io.EOF. Another error ends the text in the middle of a line.
func (c *cutter) next(b []byte) ([]byte, error) {
	b = append(b[:0], c.rest...)
	c.rest = c.rest[:0]
	for c.err == nil && len(b) < cap(b) {
		var n int
		n, c.err = c.text.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
	}
	switch end := bytes.LastIndexByte(b, '\n') + 1; {
	case errors.Is(c.err, io.EOF):
		return b, io.EOF
	case end > 0:
		c.rest = append(c.rest, b[end:]...)
		return b[:end], c.err
	case c.err != nil:
		return nil, c.err
	}
	return nil, fmt.Errorf("%w: more than %d bytes", errLongLine, cap(b))
}
