package log

import (
	"sync"
	"time"
)

// group is records that go to the disk together.
type group struct {
	framed  []byte    // headers without their sums, and payloads
	tickets []*ticket // one a record, in order
}

// ticket is what one Append waits with. It is used again when its result has been taken.
type ticket struct {
	offset int64 // of the record in its group
	head   header
	done   chan result // holds one
	timer  *time.Timer // of sleep; nil before the first
}

type result struct {
	at  Position
	err error
}

// add copies a record into the group. The copy is what allows an Append to end early while its
// record is written.
func (g *group) add(t *ticket, head header, parts [][]byte) {
	t.offset = int64(len(g.framed))
	t.head = head
	t.head.back = uint32(t.offset)
	var space [recordHeader]byte // filled in by seal, when the place in the file is known
	g.framed = append(g.framed, space[:]...)
	for _, part := range parts {
		g.framed = append(g.framed, part...)
	}
	g.tickets = append(g.tickets, t)
}

// seal writes the headers for a group that will be written at a position.
func (g *group) seal(base Position) {
	for _, t := range g.tickets {
		t.head.appendTo(g.framed[t.offset:t.offset], Position{base.Segment, base.Offset + t.offset})
	}
}

// deliver hands its result to every Append of the group. Those that have stopped waiting never
// look.
func (g *group) deliver(base Position, err error) {
	for _, t := range g.tickets {
		if err != nil {
			t.done <- result{err: err}
			continue
		}
		t.done <- result{at: Position{base.Segment, base.Offset + t.offset}}
	}
}

// reset empties the group and keeps its memory.
func (g *group) reset() {
	clear(g.tickets)
	g.framed, g.tickets = g.framed[:0], g.tickets[:0]
}

// commits gathers the records of callers into groups, and has one of the callers write those of all.
type commits struct {
	most  int64                          // bytes of a group
	write func(*group) (Position, error) // by the holder of the turn

	// turn holds one token. The holder of the token may write: it alone uses the fields up to mu.
	turn chan struct{}
	idle *group        // empty; takes the place of gather when that is written
	took time.Duration // of the last sync

	mu      sync.Mutex // guards what follows
	closed  bool
	gather  *group
	wait    groupWait // of gather
	tickets []*ticket // not in use
}

func (c *commits) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// markClosed reports whether it was open.
func (c *commits) markClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.closed
	c.closed = true
	return !was
}
