package carbon

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/refused"
)

const (
	// complaintPause is how long the log omits further lines that are bad for the same reason.
	complaintPause = 10 * time.Second
	// complaintBytes is how much of a line is logged.
	complaintBytes = 128
)

// complaints logs bad lines, at most one of each reason in complaintPause.
type complaints struct {
	logger  *slog.Logger
	samples *refused.Log // may be nil
	now     func() time.Time

	mu    sync.Mutex // guards all below
	until [reasons]time.Time
	kept  [reasons]int // bad lines since the last that was logged
}

// about logs a line. from and line are read only if it is logged.
func (c *complaints) about(ctx context.Context, reason Reason, line []byte, protocol string, from func() string) {
	if reason == ReasonNaN {
		return // as carbon: many senders have them and mean nothing by it
	}
	c.samples.Keep(refused.Sample{Door: refused.Carbon, Client: from(), Reason: reason.String(), Points: 1}, func() string { return string(line[:min(len(line), complaintBytes)]) })
	suppressed, ok := c.turn(reason)
	if !ok {
		return
	}
	cut := line[:min(len(line), complaintBytes)]
	c.logger.WarnContext(ctx, "carbon line refused", "reason", reason.String(), "protocol", protocol, "remote", from(),
		"line", strconv.QuoteToASCII(string(cut)), "bytes", len(line), "suppressed", suppressed)
}

// turn reports whether a reason may be logged now, and how often it was suppressed since it last
// was.
func (c *complaints) turn(reason Reason) (suppressed int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Before(c.until[reason]) {
		c.kept[reason]++
		return 0, false
	}
	suppressed, c.kept[reason] = c.kept[reason], 0
	c.until[reason] = now.Add(complaintPause)
	return suppressed, true
}
