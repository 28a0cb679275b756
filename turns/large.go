package turns

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/budget"
)

// A request that computes for longer than all levels, or is expected to, is large. If all large
// requests shared the cores, all of them would end late, and most of them too late. So a large
// request computes only while it has a place. There is a place for each core, a request keeps its
// place to its end, and the others wait in the line before they hold memory. There are more places,
// up to the number of turns, while cores are idle, and for requests that are far cheaper than those
// that have the places.

// mostInLine bounds the large requests that wait.
const mostInLine = 256

// errLate is the error of a large request that would wait for longer than its client does.
type errLate struct{}

// ErrLate is returned to a large request that would not begin within its time.
var ErrLate error = errLate{}

func (errLate) Error() string {
	return "other large requests are being answered, and this one would not begin within its time: try again later"
}

// Is implements errors.Is: like memory that others hold, it passes.
func (errLate) Is(target error) bool { return target == budget.ErrBusy }

// Where a request is in regard to places.
const (
	noPlace   = iota
	withPlace // one of its own
	needsNone // it may compute without
	refused   // it would have begun too late
)

// A request is what the turns of one request have in common.
type request struct {
	place    atomic.Int32
	expected atomic.Int64 // computing time in all, in nanoseconds; 0: not known
	used     atomic.Int64 // computing time of all its turns, in nanoseconds

	// These are guarded by the mu of Turns.
	number   int64 // order of arrival; 0: it has not waited
	client   string
	arrived  time.Time // in the line
	deadline time.Time // zero: none
	waiters  []*waiter // in the line
	begun    int       // turns that have begun and have not ended
	units    int64     // see Expect
	failed   bool      // it tells nothing of the cost of units
	placed   time.Time // when it got its place
	charged  time.Duration
}

// cost returns what the request is expected to compute in all.
func (r *request) cost() time.Duration { return time.Duration(max(r.expected.Load(), r.used.Load())) }

// Work is what reading and evaluating points costs, in units of Expect: for each series its points
// and as much as some points more.
func Work(series int, points int64) int64 {
	const perSeries, most = 16, 1 << 40
	return int64(series) * (min(max(points, 0), most/int64(max(1, series))) + perSeries)
}

// Expect tells of work that the request is about to do, before it takes memory for it. What a unit
// costs is measured. It reports whether the request is large and has to wait for others: then the
// caller should give back what it holds, and Yield waits.
func (t *Turn) Expect(units int64) (waits bool) {
	if t == nil || units <= 0 || t.request.place.Load() >= needsNone {
		return false
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	r := t.request
	r.units += units
	r.expected.Store(max(r.expected.Load(), r.used.Load()) + int64(float64(units)*s.price))
	return level(r.cost()) >= mostLevels && !s.takePlace(r)
}

// PauseForClient is Pause while the request waits for its client, or for another request. A large
// request leaves its place for that, and needs none any more.
func (t *Turn) PauseForClient() {
	t.Pause()
	if t == nil || t.request.place.Load() != withPlace {
		return
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.givePlace(t.request)
	t.request.place.Store(needsNone)
}

// hasPlace reports whether a large request may go on. It takes a place that is free.
func (s *Turns) hasPlace(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takePlace(r)
}

// takePlace needs mu.
func (s *Turns) takePlace(r *request) bool {
	if r.place.Load() != noPlace {
		return true
	}
	if free := s.taken < s.places && (len(s.line) == 0 || len(r.waiters) > 0); !free && !s.farCheaper(r) {
		return false
	}
	s.taken++
	r.place.Store(withPlace)
	r.placed, r.charged = time.Now(), max(r.cost(), large)
	s.large = append(s.large, r)
	at := s.clients[r.client]
	if r.placed.After(at) {
		at = r.placed
	}
	s.clients[r.client] = at.Add(r.charged)
	return true
}

// farCheaper reports whether a request costs a small part of what each one with a place has left to do.
// It does not wait for them, and takes little from them. It needs mu.
func (s *Turns) farCheaper(r *request) bool {
	const part = 4
	now, cost := time.Now(), r.cost()
	if r.expected.Load() <= r.used.Load() {
		return false // its cost is not known
	}
	return s.taken < s.most && !slices.ContainsFunc(s.large, func(o *request) bool {
		left := o.charged - now.Sub(o.placed)
		return max(left, -left) < part*cost // one that takes longer than was expected may take as much again
	})
}

// givePlace gives the place of a request to the next in line. It needs mu.
func (s *Turns) givePlace(r *request) {
	if r.place.Load() != withPlace {
		return
	}
	r.place.Store(noPlace)
	s.taken--
	s.large = slices.DeleteFunc(s.large, func(o *request) bool { return o == r })
	s.clients[r.client] = s.clients[r.client].Add(time.Duration(r.used.Load()) - r.charged)
	if took := time.Since(r.placed); took > slice && !r.failed {
		s.speed = smooth(s.speed, float64(r.charged)/float64(took))
	}
	s.admit()
}

// smooth returns a mean of late values.
func smooth(mean, value float64) float64 {
	if mean == 0 {
		return value
	}
	return mean + (value-mean)/4
}

// finish is when a request would end if each client had a core of its own, and had used it as much
// as it did. Who would end first goes first: a small request before a large one, a client before
// another one that has had much, and all in the end.
func (r *request) finish(client time.Time) time.Time {
	begin := r.arrived
	if client.After(begin) {
		begin = client
	}
	return begin.Add(r.cost())
}

// first returns the index of the request that goes first, with the times of the clients. It needs mu.
func first(line []*request, clients map[string]time.Time) (best int) {
	var earliest time.Time
	for i, r := range line {
		if at := r.finish(clients[r.client]); i == 0 || at.Before(earliest) {
			best, earliest = i, at
		}
	}
	return best
}

// join has a large request wait for its place. If too many wait, the one that would go last is
// refused. It needs mu.
func (s *Turns) join(ctx context.Context, r *request, w *waiter) {
	w.at, w.request = -1, r
	r.waiters = append(r.waiters, w)
	if len(r.waiters) > 1 {
		return
	}
	r.arrived = time.Now()
	r.deadline, _ = deadlineOf(ctx)
	if s.line = append(s.line, r); len(s.line) > mostInLine {
		order := s.ordered()
		s.refuse(order[len(order)-1])
	}
	s.refuseLate()
}

// admit gives free places to requests in line. It needs mu.
func (s *Turns) admit() {
	for s.taken < s.places && len(s.line) > 0 {
		i := first(s.line, s.clients)
		r := s.line[i]
		s.takePlace(r)
		s.line = slices.Delete(s.line, i, i+1)
		for _, w := range r.waiters {
			w.request = nil
			s.push(w)
		}
		r.waiters = nil
	}
	if len(s.line) == 0 && len(s.large) == 0 {
		s.places = s.cores
		clear(s.clients)
	}
	s.hand()
	s.refuseLate()
}

// certain is how many times as long as its time the wait of a request must be until it is refused:
// the speed is only about known.
const certain = 1.5

// refuseLate refuses the requests in line that would not begin within their time, at the speed of
// those that have ended. It needs mu.
func (s *Turns) refuseLate() {
	if s.speed == 0 || len(s.line) == 0 {
		return
	}
	now := time.Now()
	var ahead float64 // nanoseconds until a request begins
	pace := certain * s.speed * float64(s.places)
	for _, r := range s.large {
		ahead += max(0, float64(r.charged)-s.speed*float64(now.Sub(r.placed))) / pace
	}
	for _, r := range s.ordered() {
		if !r.deadline.IsZero() && now.Add(time.Duration(ahead)).After(r.deadline) {
			s.refuse(r)
			continue
		}
		ahead += float64(r.cost()) / pace
	}
}

// ordered returns the line in the order in which it will go. It needs mu.
func (s *Turns) ordered() []*request {
	byClient, clients := map[string][]*request{}, map[string]time.Time{}
	for _, r := range s.line {
		byClient[r.client] = append(byClient[r.client], r)
		clients[r.client] = s.clients[r.client]
	}
	heads := make([]*request, 0, len(byClient))
	for client, own := range byClient {
		slices.SortFunc(own, func(a, b *request) int {
			return a.finish(clients[client]).Compare(b.finish(clients[client]))
		})
		heads = append(heads, own[0])
	}
	out := make([]*request, 0, len(s.line))
	for len(heads) > 0 {
		i := first(heads, clients)
		r := heads[i]
		out = append(out, r)
		clients[r.client] = r.finish(clients[r.client])
		if own := byClient[r.client][1:]; len(own) > 0 {
			byClient[r.client], heads[i] = own, own[0]
		} else {
			heads = slices.Delete(heads, i, i+1)
		}
	}
	return out
}

// refuse ends the wait of a request. It needs mu.
func (s *Turns) refuse(r *request) {
	r.failed = true
	r.place.Store(refused)
	for _, w := range r.waiters {
		w.request, w.err = nil, ErrLate
		close(w.turn)
	}
	r.waiters = nil
	s.line = slices.DeleteFunc(s.line, func(o *request) bool { return o == r })
}

// abandon takes a waiter out of the line. It needs mu.
func (s *Turns) abandon(w *waiter) {
	r := w.request
	w.request = nil
	if r.waiters = slices.DeleteFunc(r.waiters, func(o *waiter) bool { return o == w }); len(r.waiters) == 0 {
		s.line = slices.DeleteFunc(s.line, func(o *request) bool { return o == r })
	}
}

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
	s.givePlace(r)
	if r.units >= leastLearnt && !r.failed {
		s.learn(r.units, r.used.Load())
	}
	if r.place.Load() == refused {
		r.place.Store(noPlace)
	}
	r.units, r.failed = 0, false
	r.expected.Store(0)
	r.used.Store(0)
}

// What units cost is learned from requests of leastLearnt units or more: the time of others is not
// that of their units. About learnt units are remembered, which are some seconds of work.
const (
	leastLearnt = 1 << 14
	learnt      = 1 << 26
)

// learn remembers what units have cost. It needs mu.
func (s *Turns) learn(units, used int64) {
	s.units += float64(units)
	s.spent += float64(used)
	s.price = s.spent / s.units
	if s.units > learnt {
		s.spent, s.units = s.price*learnt/2, learnt/2
	}
}

// quietLooks is how many times in a row cores must be idle until there are more places.
const quietLooks = 2

// look makes more places if requests wait for a place while cores are idle, because those with a
// place wait for the store, and fewer when no core is idle.
func (s *Turns) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.looked) < maxWait/2 {
		return
	}
	s.looked = now
	if !s.idle() {
		s.quiet, s.places = 0, max(s.places-1, s.cores)
		return
	}
	if s.quiet++; s.quiet >= quietLooks && s.places < s.most {
		s.quiet, s.places = 0, min(2*s.places, s.most)
		s.admit()
	}
}

type (
	clientKey   struct{}
	deadlineKey struct{}
)

// For returns a context of a request of a client, which has an address. The places for large requests
// are shared among the clients.
func For(ctx context.Context, client string) context.Context {
	if host, _, err := net.SplitHostPort(client); err == nil {
		client = host
	}
	return context.WithValue(ctx, clientKey{}, client)
}

func clientOf(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// Detached returns a context that does not end with ctx, of work that is of
// no use to the request of ctx after that end.
func Detached(ctx context.Context) context.Context {
	end, ok := deadlineOf(ctx)
	ctx = context.WithoutCancel(ctx)
	if ok {
		ctx = context.WithValue(ctx, deadlineKey{}, end)
	}
	return ctx
}

// deadlineOf returns when an answer is of no use any more.
func deadlineOf(ctx context.Context) (end time.Time, ok bool) {
	end, ok = ctx.Deadline()
	if of, detached := ctx.Value(deadlineKey{}).(time.Time); detached && (!ok || of.Before(end)) {
		return of, true
	}
	return end, ok
}

// busy notes in the account of ctx that a request was refused because of others.
func busy(ctx context.Context, err error) error {
	if errors.Is(err, ErrLate) {
		budget.From(ctx).Share(err)
	}
	return err
}
