package graphite

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

const (
	// A name that the store refused is not tried again for refusedTime to twice that.
	refusedTime = 30 * time.Second
	// refusedBytes bounds the names remembered, twice.
	refusedBytes = 4 << 20
	// refusedCost is what a name takes beside its bytes.
	refusedCost = 64
	// refusedPause is how long the log keeps silent about further refusals.
	refusedPause = 10 * time.Second
	// loggedName is how many bytes of a name are logged.
	loggedName = 256
)

// ingestRefused remembers for a short while which names the store refused, in two generations: names do not leave it one by one.
type ingestRefused struct {
	logger *slog.Logger

	mu         sync.Mutex // guards all below
	young, old map[string]struct{}
	bytes      int // of young
	turned     time.Time
	silent     time.Time // until then
	suppressed int
}

// holds says whether a name was refused lately.
func (r *ingestRefused) holds(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.young)+len(r.old) == 0 {
		return false
	}
	r.turn(now)
	_, young := r.young[name]
	_, old := r.old[name]
	return young || old
}

// turn forgets what is old. It needs mu.
func (r *ingestRefused) turn(now time.Time) {
	if now.Sub(r.turned) < refusedTime && r.bytes < refusedBytes {
		return
	}
	r.old, r.young, r.bytes = r.young, nil, 0
	if now.Sub(r.turned) >= 2*refusedTime {
		r.old = nil
	}
	r.turned = now
}

// add remembers a name, and logs it unless another was logged just now.
func (r *ingestRefused) add(ctx context.Context, name string, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if r.young == nil {
		r.young = map[string]struct{}{}
	}
	r.young[name] = struct{}{}
	r.bytes += len(name) + refusedCost
	r.log(ctx, now, "graphite series refused", "name", strconv.QuoteToASCII(cutName(name)), "err", err)
}

// logPoints logs points that were refused without a name.
func (r *ingestRefused) logPoints(ctx context.Context, points int, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log(ctx, now, "graphite points refused", "points", points, "err", err)
}

// log needs mu.
func (r *ingestRefused) log(ctx context.Context, now time.Time, message string, args ...any) {
	if now.Before(r.silent) {
		r.suppressed++
		return
	}
	r.logger.WarnContext(ctx, message, append(args, "suppressed", r.suppressed)...)
	r.silent, r.suppressed = now.Add(refusedPause), 0
}

func cutName(name string) string { return name[:min(len(name), loggedName)] }
