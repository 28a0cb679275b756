package log

import (
	"context"
	"fmt"
)

// Append adds one record, the concatenation of parts, and returns its position when it is on the
// disk. Those that wait at the same time are written and synced together. ctx ends only the
// waiting: the record may still become durable. The same goes for any error but ErrTooLarge and
// ErrClosed: the record may be there after a restart, though it seldom is. The parts belong to the
// caller again when Append returns. Safe for concurrent use.
func (l *Log) Append(ctx context.Context, parts ...[]byte) (Position, error) {
	if err := ctx.Err(); err != nil {
		return Position{}, err
	}
	if l.waits.Load() != nil {
		if err := l.GoOn(ctx); err != nil {
			return Position{}, err
		}
	}
	length, sum := measure(parts)
	if length == 0 || length > l.opts.MaxRecordBytes {
		return Position{}, fmt.Errorf("%w: %d bytes, want 1 to %d", ErrTooLarge, length, l.opts.MaxRecordBytes)
	}
	head := header{length: uint32(length), payload: sum}
	if recordHeader+length > l.opts.GroupBytes {
		return l.appendAlone(ctx, head, parts)
	}
	t, err := l.commits.join(ctx, head, parts)
	if err != nil {
		return Position{}, err
	}
	return l.commits.await(ctx, t)
}

// join puts a record into the group that gathers. When the group is full, one of the callers that
// wait for the next group writes it. The caller whose record completes a group that waits for more
// writes the group.
func (c *commits) join(ctx context.Context, head header, parts [][]byte) (*ticket, error) {
	for {
		t, leads, err := c.tryJoin(head, parts)
		if t == nil && err == nil && !leads {
			select {
			case <-c.turn:
				leads = true
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if leads {
			c.commitAndPass()
		}
		if t != nil || err != nil {
			return t, err
		}
	}
}

// tryJoin returns no ticket when the group is full. leads means that the group waited for more and
// is complete or full now: the caller has the turn.
func (c *commits) tryJoin(head header, parts [][]byte) (t *ticket, leads bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, ErrClosed
	}
	if int64(len(c.gather.framed))+recordHeader+int64(head.length) > c.most {
		return nil, c.wait.end(len(c.gather.tickets)), nil
	}
	t = c.newTicket()
	c.gather.add(t, head, parts)
	n := len(c.gather.tickets)
	return t, n >= c.wait.expect && c.wait.end(n), nil
}

// await returns when the record of a ticket has been written, by another or, when the turn comes
// here, by this one.
func (c *commits) await(ctx context.Context, t *ticket) (Position, error) {
	select {
	case r := <-t.done:
		return c.redeem(t, r)
	case <-c.turn:
		// Results are delivered before the turn is passed on. If there is none the record is in the
		// gathering group.
		if len(t.done) == 0 {
			c.lead(ctx, t)
		} else {
			c.turn <- struct{}{}
		}
		return c.redeem(t, <-t.done)
	case <-ctx.Done():
		select {
		case r := <-t.done:
			return c.redeem(t, r)
		default:
			return Position{}, ctx.Err() // the ticket is left to the caller that writes the group
		}
	}
}

func (c *commits) newTicket() *ticket {
	if n := len(c.tickets); n > 0 {
		t := c.tickets[n-1]
		c.tickets = c.tickets[:n-1]
		return t
	}
	return &ticket{done: make(chan result, 1)}
}

func (c *commits) redeem(t *ticket, r result) (Position, error) {
	c.mu.Lock()
	c.tickets = append(c.tickets, t)
	c.mu.Unlock()
	return r.at, r.err
}

// commit writes what has gathered. Meanwhile the next group gathers. The caller has the turn.
func (c *commits) commit() {
	c.mu.Lock()
	g := c.gather
	if len(g.tickets) == 0 {
		c.mu.Unlock()
		return
	}
	c.gather = c.idle
	c.mu.Unlock()

	base, err := c.write(g)
	c.mu.Lock()
	c.wait.synced(c.took, len(g.tickets)+len(c.gather.tickets))
	c.mu.Unlock()
	g.deliver(base, err)
	g.reset()
	c.idle = g
}

// writeGroup writes a group.
func (l *Log) writeGroup(g *group) (Position, error) {
	return l.write(int64(len(g.framed)), len(g.tickets), func(s *segment) error {
		g.seal(s.endPosition())
		_, err := s.file.WriteAt(g.framed, s.end)
		return err
	})
}

// appendAlone writes a record that is too large to gather, from the memory of the caller.
func (l *Log) appendAlone(ctx context.Context, head header, parts [][]byte) (Position, error) {
	select {
	case <-l.commits.turn:
	case <-ctx.Done():
		return Position{}, ctx.Err()
	}
	defer func() { l.commits.turn <- struct{}{} }()
	if l.commits.isClosed() {
		return Position{}, ErrClosed
	}
	return l.write(recordHeader+int64(head.length), 1, func(s *segment) error {
		return writeParts(s, head, parts)
	})
}

func writeParts(s *segment, head header, parts [][]byte) error {
	at := s.end
	if _, err := s.file.WriteAt(head.appendTo(nil, s.endPosition()), at); err != nil {
		return err
	}
	at += recordHeader
	for _, part := range parts {
		if _, err := s.file.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	return nil
}

// write puts size bytes with some records at the end of the log and returns when they are on the
// disk. The caller has the turn.
func (l *Log) write(size int64, records int, to func(*segment) error) (Position, error) {
	s, err := l.segmentFor(size)
	if err != nil {
		return Position{}, err
	}
	at := s.endPosition()
	if err := to(s); err != nil {
		l.metrics.failed(failedWrite, err)
		l.cutBack(s)
		return Position{}, diskError("write", l.opts.path(s.number, suffixLog), err)
	}
	if err := l.syncData(s); err != nil {
		return Position{}, err
	}
	l.mu.Lock()
	s.end += size
	l.end = s.endPosition()
	l.mu.Unlock()
	l.marker.note()
	if l.opts.Synced != nil {
		l.opts.Synced(s.endPosition())
	}
	l.metrics.wrote(records, size)
	return at, nil
}

// syncData gives the segment up when it fails: the system may have dropped the pages and would call
// a second try a success.
func (l *Log) syncData(s *segment) error {
	start := l.opts.Now()
	err := s.file.SyncData()
	l.commits.took = l.opts.Now().Sub(start)
	l.metrics.sync.Observe(l.commits.took.Seconds())
	if err == nil {
		return nil
	}
	l.metrics.failed(failedSync, err)
	l.giveUp(s)
	return diskError("sync", l.opts.path(s.number, suffixLog), err)
}
