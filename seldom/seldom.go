// Package seldom keeps a log short when something goes wrong again and again: a message is logged so many times in a
// minute, and the next one after that tells how many were left out. It never decides what is logged otherwise.
package seldom

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Most is how often a message is logged in a minute.
const Most = 10

// mostMessages bounds the messages that are counted. Messages are constants of the program; more of them are logged
// uncounted.
const mostMessages = 1000

// Limit returns a handler that hands records on to another one, each message at most Most times in a minute. Messages
// below the level of information are not counted.
func Limit(next slog.Handler) slog.Handler {
	return &handler{next: next, counts: &counts{of: map[string]*count{}}}
}

type handler struct {
	next   slog.Handler
	counts *counts // shared with the handlers made of it
}

// counts is safe for concurrent use.
type counts struct {
	mu sync.Mutex // guards what follows
	of map[string]*count
}

// count is that of a message in the minute that began at since.
type count struct {
	since        time.Time
	logged, left int
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return h.next.Handle(ctx, r)
	}
	left, ok := h.counts.next(r.Message, r.Time)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", left))
	}
	return h.next.Handle(ctx, r)
}

// next reports whether a message is logged, and how many like it were left out before.
func (c *counts) next(message string, now time.Time) (left int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[message]
	if n == nil {
		if len(c.of) >= mostMessages {
			return 0, true
		}
		n = &count{since: now}
		c.of[message] = n
	}
	if age := now.Sub(n.since); age >= time.Minute || age < 0 {
		left = n.left
		*n = count{since: now}
	}
	if n.logged >= Most {
		n.left++
		return 0, false
	}
	n.logged++
	return left, true
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{next: h.next.WithAttrs(attrs), counts: h.counts}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), counts: h.counts}
}
