package push

import (
	"errors"
	"fmt"
	"io"
)

// Bounds of what a request costs. Text of samples is compressed to a tenth or so, seldom to a
// hundredth; gzip expands a thousand times at most.
const (
	// maxExpansion is how many times its size a text may have, from expandedBytes on.
	maxExpansion  = 200
	expandedBytes = 32 << 20
	// maxBad is how many lines may be refused. A bad line takes some microseconds.
	maxBad = 100_000
)

var (
	errExpansion = fmt.Errorf("the text expands more than %d times", maxExpansion)
	errBad       = fmt.Errorf("more than %d bad lines; the rest was not read", maxBad)
)

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// expanding reads a text that is decompressed, and fails when it is much larger than what was sent.
type expanding struct {
	counted

	packed *counted
}

func (e *expanding) Read(b []byte) (int, error) {
	n, err := e.counted.Read(b)
	if e.n > expandedBytes && e.n > maxExpansion*e.packed.n {
		return n, errors.Join(errExpansion, err)
	}
	return n, err
}
