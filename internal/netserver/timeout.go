package netserver

import (
	"context"
	"sync"
	"time"
)

// WithTimeout is context.WithTimeout for work that mostly ends without waiting: the timer begins
// with the first call of Done.
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	c := &lateTimer{Context: parent, deadline: time.Now().Add(timeout)}
	return c, c.cancel
}

// lateTimer is a context with a deadline. Until Done is called it has neither timer nor channel.
type lateTimer struct {
	context.Context //nolint:containedctx // it is the parent
	deadline        time.Time

	mu      sync.Mutex      // guards all below
	waited  context.Context //nolint:containedctx // with the timer; nil before Done
	stop    context.CancelFunc
	stopped bool
}

// Deadline implements context.Context.
func (c *lateTimer) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *lateTimer) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited, c.stop = context.WithDeadline(c.Context, c.deadline)
		if c.stopped {
			c.stop()
		}
	}
	return c.waited.Done()
}

// Err implements context.Context.
func (c *lateTimer) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waited != nil:
		return c.waited.Err()
	case c.Context.Err() != nil:
		return c.Context.Err()
	case c.stopped:
		return context.Canceled
	case !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

func (c *lateTimer) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped = true; c.stop != nil {
		c.stop()
	}
}
