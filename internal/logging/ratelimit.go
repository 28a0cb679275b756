package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxPerMinute is how often one message is logged in a minute.
const maxPerMinute = 10

// mostMessages bounds the messages that are counted. Messages are constants of the program; more of them are logged
// uncounted.
const mostMessages = 1000

// RateLimit returns a handler that passes records to next, each message at most 10 times in a minute. The next record
// after that has the attribute "suppressed": how many were left out. Messages below slog.LevelInfo are not counted.
func RateLimit(next slog.Handler) slog.Handler {
	return &rateHandler{next: next, counts: &counts{of: map[string]*count{}}}
}

type rateHandler struct {
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
func (h *rateHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *rateHandler) Handle(ctx context.Context, r slog.Record) error {
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
	if n.logged >= maxPerMinute {
		n.left++
		return 0, false
	}
	n.logged++
	return left, true
}

// WithAttrs implements slog.Handler.
func (h *rateHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &rateHandler{next: h.next.WithAttrs(attrs), counts: h.counts}
}

// WithGroup implements slog.Handler.
func (h *rateHandler) WithGroup(name string) slog.Handler {
	return &rateHandler{next: h.next.WithGroup(name), counts: h.counts}
}
