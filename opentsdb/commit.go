package opentsdb

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

// committer appends batches in groups: while all appends allowed are under way, batches that come wait together, and the first of them
// appends for all. So many requests with a few points each cost the store no more than one with many.
type committer struct {
	appender storage.Appender
	scratch  chan *storage.Batch // memory of the appends that are not under way

	mu      sync.Mutex   // guards all below, and the groups
	forming *commitGroup // the group that takes more batches; nil: none
}

// groupPoints bounds the points that one append takes of several batches.
const groupPoints = 64 << 10

// commitGroup is batches that are appended together.
type commitGroup struct {
	members []*commitMember
	points  int
	begun   bool          // the batches are in use, none can leave
	done    chan struct{} // closed when each member has its err
}

type commitMember struct {
	batch *storage.Batch
	err   error
}

func newCommitter(a storage.Appender, appends int) *committer {
	c := &committer{appender: a, scratch: make(chan *storage.Batch, appends)}
	for range appends {
		c.scratch <- newBatch()
	}
	return c
}

// commit returns when the batch is durable, or is refused, or ctx ends before anybody began to append it.
func (c *committer) commit(ctx context.Context, b *storage.Batch) error {
	m := &commitMember{batch: b}
	g, leads := c.join(m)
	if leads {
		c.lead(ctx, g)
		return m.err
	}
	select {
	case <-g.done:
		return m.err
	case <-ctx.Done():
	}
	if c.leave(g, m) {
		return ctx.Err()
	}
	<-g.done // the batch is in use
	return m.err
}

// join adds a batch to the group that is forming, or begins one, which the caller leads.
func (c *committer) join(m *commitMember) (g *commitGroup, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g = c.forming
	if g == nil || g.points+len(m.batch.Refs) > groupPoints {
		g, leads = &commitGroup{done: make(chan struct{})}, true
		c.forming = g
	}
	g.members = append(g.members, m)
	g.points += len(m.batch.Refs)
	return g, leads
}

// leave takes a batch out of a group again, unless it is too late.
func (c *committer) leave(g *commitGroup, m *commitMember) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.begun {
		return false
	}
	g.members = slices.DeleteFunc(g.members, func(other *commitMember) bool { return other == m })
	g.points -= len(m.batch.Refs)
	return true
}

// lead waits for its turn, and appends what has joined the group until then.
func (c *committer) lead(ctx context.Context, g *commitGroup) {
	defer close(g.done)
	select {
	case scratch := <-c.scratch:
		c.appendGroup(ctx, c.begin(g), scratch)
		if cap(scratch.Refs) > 2*groupPoints {
			scratch = newBatch()
		}
		c.scratch <- scratch
	case <-ctx.Done():
		for _, m := range c.begin(g) {
			m.err = ctx.Err()
		}
	}
}

// begin closes a group for those who would join or leave.
func (c *committer) begin(g *commitGroup) []*commitMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forming == g {
		c.forming = nil
	}
	g.begun = true
	return g.members
}

// appendGroup appends batches as one. The store does not say which points of a batch it refuses for good; so then each is appended alone,
// that none pays for another.
func (c *committer) appendGroup(ctx context.Context, members []*commitMember, scratch *storage.Batch) {
	if len(members) == 1 {
		members[0].err = c.append(ctx, members[0].batch)
		return
	}
	scratch.Reset()
	for _, m := range members {
		join(scratch, m.batch)
	}
	err := c.append(ctx, scratch)
	for _, m := range members {
		m.err = err
		if err != nil && isRefusal(err) {
			m.err = c.append(ctx, m.batch)
		}
	}
}

func (c *committer) append(ctx context.Context, b *storage.Batch) error {
	if err := c.appender.Append(ctx, b); err != nil {
		return fmt.Errorf("append %d points: %w", len(b.Refs), err)
	}
	return nil
}
