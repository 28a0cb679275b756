package query

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// A request is what the turns of one request have in common.
type request struct {
	place    atomic.Int32
	expected atomic.Int64 // computing time in all, in nanoseconds; 0: not known
	used     atomic.Int64 // computing time of all its turns, in nanoseconds

	// These are guarded by the mu of Turns.
	number   int64 // order of arrival; 0: it has not waited
	client   string
	arrived  time.Time // in a line
	deadline time.Time // zero: none
	waiters  []*waiter // in a line
	begun    int       // turns that have begun and have not ended
	units    int64     // see Expect
	failed   bool      // it tells nothing of the cost of units
	placed   time.Time // when it got its place
	charged  time.Duration
	late     error // why it was refused; set before its place is refused
}

// cost returns what the request is expected to compute in all.
func (r *request) cost() time.Duration { return time.Duration(max(r.expected.Load(), r.used.Load())) }

// begin counts a turn of a request that computes. It needs mu.
func (t *Turn) begin() {
	if !t.begun {
		t.begun = true
		t.request.begun++
	}
}

// ended counts a turn less. With the last one the place is given back, and what units cost is
// learned. It needs mu.
func (t *Turn) ended() {
	r, s := t.request, t.turns
	t.begun = false
	if r.begun--; r.begun > 0 {
		return
	}
	s.giveMiddle(r)
	s.givePlace(r)
	if r.units >= leastLearnt && !r.failed {
		s.price.learn(r.units, r.used.Load())
	}
	if r.place.Load() == refused {
		r.place.Store(noPlace)
	}
	r.units, r.failed = 0, false
	r.expected.Store(0)
	r.used.Store(0)
}

// WithClient returns a context of a request of a client, which has an address. The places for large
// requests are shared among the clients.
func WithClient(ctx context.Context, client string) context.Context {
	return with(ctx, func(h *handle) { h.client = hostOf(client) })
}

// hostOf returns an address without its port.
func hostOf(client string) string {
	if host, _, err := net.SplitHostPort(client); err == nil {
		return host
	}
	return client
}

// Detached returns a context that does not end with ctx, of work that is of
// no use to the request of ctx after that end.
func Detached(ctx context.Context) context.Context {
	end, ok := deadlineOf(ctx)
	ctx = context.WithoutCancel(ctx)
	if ok {
		ctx = with(ctx, func(h *handle) { h.deadline = end })
	}
	return ctx
}

// deadlineOf returns when an answer is of no use any more.
func deadlineOf(ctx context.Context) (end time.Time, ok bool) {
	end, ok = ctx.Deadline()
	if of := handleOf(ctx).deadline; !of.IsZero() && (!ok || of.Before(end)) {
		return of, true
	}
	return end, ok
}
