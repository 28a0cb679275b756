package read

import (
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// What an answer takes by estimate, in bytes.
const (
	sampleBytes = 16
	objectBytes = 64 // in addition to its data
)

// claimBytes is the least that a group takes from the account at once, which costs a lock.
const claimBytes = 256 << 10

// charge is what a group holds of the account of the request. Its memory is used again by the next
// request, so it is paid for while it is used.
type charge struct {
	account *query.Account
	held    atomic.Int64
}

func (c *charge) take(n int64) error {
	if err := c.account.Take(n); err != nil {
		return err
	}
	c.held.Add(n)
	return nil
}

// give gives n bytes back, at most all that is held.
func (c *charge) give(n int64) {
	c.held.Add(-n)
	c.account.Give(n)
}

// end gives everything back.
func (c *charge) end() {
	c.account.Give(c.held.Swap(0))
	c.account = nil
}

// claims are what the reading of a part takes of the charge of its group.
type claims struct {
	charge  *charge
	needed  int // bytes of this part
	claimed int // of them, from the account
}

// claim counts n bytes more of the part, and takes them in large pieces.
func (c *claims) claim(n int) error {
	if c.needed += n; c.needed <= c.claimed {
		return nil
	}
	more := max(c.needed-c.claimed, claimBytes)
	if err := c.charge.take(int64(more)); err != nil {
		return err
	}
	c.claimed += more
	return nil
}

// perSample is the memory of a sample: one that is asked for as an integer may be kept twice.
func (s *selection) perSample() int {
	if s.q.Integers {
		return 2 * sampleBytes
	}
	return sampleBytes
}

// claimObjects counts objects that a row added.
func (c *claims) claimObjects(added []storage.Object) error {
	n := 0
	for _, o := range added {
		n += objectBytes + len(o.Data)
	}
	return c.claim(n)
}

// claimAnnotations counts annotations that a row added.
func (c *claims) claimAnnotations(added [][]byte) error {
	n := 0
	for _, document := range added {
		n += objectBytes + len(document)
	}
	return c.claim(n)
}
