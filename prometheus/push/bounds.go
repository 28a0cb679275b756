package push

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// Bounds of what a text takes at once.
const (
	// requestMemory is what a request takes at most, in bytes: lines, and the samples of a batch.
	requestMemory = 8 << 20
	// batchSamples and batchBytes are how many samples are made durable at once, and how many bytes
	// their labels and metadata have: one sample more may come.
	batchSamples = 10_000
	batchBytes   = 1 << 20
)

// maxTexts returns how many texts are read at once. They take a quarter of the memory of all writes: a
// text lasts as long as its sender likes, and the others must not wait for it.
func maxTexts(memory int) int { return max(1, memory/4/requestMemory) }

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

// slowest is how many bytes a second a sender must send, after the first minute.
const slowest = 1 << 10

var errSlow = fmt.Errorf("the text comes with less than %d bytes a second", slowest)

// patient gives each piece of a body its own time to come. A sender that is slow for long must end:
// others wait for its place. The time in which nothing is read does not count.
type patient struct {
	r       io.Reader
	control *http.ResponseController
	bytes   int
	waited  time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	begin := time.Now()
	// a server without deadlines (tests) has slow senders wait
	_ = p.control.SetReadDeadline(begin.Add(netserver.BodyTimeout))
	n, err := p.r.Read(b)
	// what is stored meanwhile, and at the end, has no deadline: net/http would cancel the request
	_ = p.control.SetReadDeadline(time.Time{})
	p.bytes += n
	if p.waited += time.Since(begin); err == nil && p.isSlow() {
		err = errSlow
	}
	return n, err
}

func (p *patient) isSlow() bool {
	return p.waited > netserver.BodyTimeout && float64(p.bytes) < p.waited.Seconds()*slowest
}
