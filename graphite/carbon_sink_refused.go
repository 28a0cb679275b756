package graphite

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/recent"
	"github.com/tsdbridge/tsdbridge/refused"
)

const (
	// refusedTime is how long a name that the store refused is not tried again.
	refusedTime = 30 * time.Second
	// refusedBytes bounds each generation of the names that are remembered.
	refusedBytes = 4 << 20
	// refusedCost is what a name takes in addition to its bytes.
	refusedCost = 64
	// refusedPause is how long the log keeps silent about further refusals.
	refusedPause = 10 * time.Second
	// loggedName is how many bytes of a name are logged.
	loggedName = 256
)

// refusedNames remembers for a short while which names the store refused, and logs refusals.
type refusedNames struct {
	names  *recent.Map[string, time.Time] // when they were refused
	logger *slog.Logger
	kept   *refused.Log

	mu         sync.Mutex // guards all below
	silent     time.Time  // until then
	suppressed int
}

func newRefusedNames(logger *slog.Logger, kept *refused.Log) *refusedNames {
	return &refusedNames{kept: kept, names: recent.NewWeighted[string, time.Time](refusedBytes, func(name string) int { return len(name) + refusedCost }), logger: logger}
}

// holds reports whether a name was refused lately.
func (r *refusedNames) holds(name string, now time.Time) bool {
	at, ok := r.names.Get(name)
	return ok && now.Sub(at) < refusedTime
}

// add remembers a name, and logs it unless another was logged just now.
func (r *refusedNames) add(ctx context.Context, name string, err error, now time.Time) {
	r.names.Put(name, now)
	r.kept.Keep(refused.Sample{Door: refused.Carbon, Reason: err.Error(), Points: 1}, func() string { return name })
	r.log(ctx, now, "graphite series refused", "name", strconv.QuoteToASCII(name[:min(len(name), loggedName)]), "err", err)
}

// logPoints logs points that were refused without a name.
func (r *refusedNames) logPoints(ctx context.Context, points int, err error, now time.Time) {
	r.kept.Keep(refused.Sample{Door: refused.Carbon, Reason: err.Error(), Points: points}, nil)
	r.log(ctx, now, "graphite points refused", "points", points, "err", err)
}

func (r *refusedNames) log(ctx context.Context, now time.Time, message string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.silent) {
		r.suppressed++
		return
	}
	r.logger.WarnContext(ctx, message, append(args, "suppressed", r.suppressed)...)
	r.silent, r.suppressed = now.Add(refusedPause), 0
}
