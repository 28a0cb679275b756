package query

import (
	"container/heap"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A request yields to waiting requests that have computed less after it has computed for firstStep, and
// for secondStep. Nearly all requests end within these steps, and many that arrive at once should not wait
// for a slice of each.
const (
	slice      = 50 * time.Millisecond
	firstStep  = 2 * time.Millisecond
	secondStep = 10 * time.Millisecond
)

// The levels of computing time are two steps, and then two sizes. Requests of one size do not yield to each
// other, because all of them would end late: see middle and places.
const (
	middleLevel = 2
	largeLevel  = 3
	large       = 2 * slice
)

// maxWait is how long a request that has hardly computed waits for turns that are not yielded, as
// in Prometheus' engine. It then starts in addition to the others. At most extra times the number of
// turns are added in this way, so that short requests are answered and few share the cores.
const (
	maxWait = 2 * slice
	extra   = 4
)

// burst is how long a request computes before it lets other runnable goroutines run.
const burst = time.Millisecond

// noLevel is above the level of every request.
const noLevel = largeLevel + 1

// Turns are shared by all requests of a kind. They are safe for concurrent use.
type Turns struct {
	// shortest is the level of the first request in queue, or noLevel. It is read without mu.
	shortest atomic.Int64

	mu     sync.Mutex // guards all below
	free   int        // turns; below 0: the number of requests that were added
	least  int        // lower bound of free
	passed time.Time  // when a turn was given away last
	queue  queue
	count  int64 // requests that have waited so far

	places
	middle middle
	price  price
}

// mostPerCore limits the requests for each core that compute at once, even if a flag allows more.
// Some of them wait for the store. With more of them, all other goroutines would wait 10 ms for
// each.
const mostPerCore = 4

// FreeBytes is the size of parameters up to which a request is parsed without a turn.
const FreeBytes = 8 << 10

// NewTurns returns turns for n requests at once, at least 1 and at most mostPerCore for each core.
func NewTurns(n int) *Turns {
	n = max(1, min(n, mostPerCore*runtime.GOMAXPROCS(0)))
	cores := min(n, runtime.GOMAXPROCS(0))
	t := &Turns{free: n, least: -extra * n, places: places{most: n, cores: cores, open: cores, clients: map[string]time.Time{}, idle: coresIdle}}
	t.price.learn(firstUnits, firstUnits*firstPrice)
	t.shortest.Store(noLevel)
	return t
}

// A Turn belongs to one request and is used by one goroutine at a time. A nil Turn never waits.
type Turn struct {
	turns   *Turns
	request *request
	held    bool
	begun   bool          // and not ended
	since   time.Time     // when it was taken
	used    time.Duration // computing time before since
	next    time.Duration // computing time at which other goroutines run first

	lasting bool
	paused  time.Time // when a lasting turn was paused
}

// Begin waits for a turn. End must be called at the end.
func (t *Turns) Begin(ctx context.Context) (*Turn, error) {
	turn := t.Later()
	return turn, turn.Resume(ctx)
}

// Later returns a turn that begins with Resume.
func (t *Turns) Later() *Turn { return &Turn{turns: t, request: &request{}, next: burst} }

// Lasting returns a turn for a connection, which alternates between computing and waiting for its
// client. Its computing time is forgotten while it waits, as fast as it was used, and it is never
// large. It begins with Resume. Lasting of nil Turns returns nil.
func (t *Turns) Lasting() *Turn {
	if t == nil {
		return nil
	}
	turn := &Turn{turns: t, request: &request{}, next: burst, lasting: true}
	turn.request.place.Store(needsNone)
	return turn
}

// Fork returns a turn for another goroutine of the request. It begins with Resume and with the
// computing time of this turn.
func (t *Turn) Fork() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{turns: t.turns, request: t.request, used: t.used, next: t.used + burst}
}

// Yield lets requests go first that have computed less by a step or a size. A request of middle size, and a
// large one, waits for its place. It returns the error of a context that has ended, or ErrLate: then the request has no
// turn.
func (t *Turn) Yield(ctx context.Context) error {
	if !t.Wanted() {
		return t.refused(ctx)
	}
	t.Pause()
	return t.Resume(ctx)
}

// refused returns the error of a request that was refused, to each of its turns, or that of ctx.
func (t *Turn) refused(ctx context.Context) error {
	if t != nil && t.request.place.Load() == refused {
		return busy(ctx, t.request.late)
	}
	return ctx.Err()
}

// Wanted reports whether Yield would give the turn away. It reads the clock, and lets other
// goroutines run once for each burst.
func (t *Turn) Wanted() bool {
	if t == nil || !t.held {
		return false
	}
	used := t.used + time.Since(t.since)
	if used >= t.next { // other work of the process must not wait for the end of 10 ms
		t.next = used + burst
		runtime.Gosched()
	}
	own := t.level(used)
	if needs(own, t.request.place.Load()) && !t.turns.hasPlace(t.request, own) {
		return true
	}
	shortest := t.turns.shortest.Load()
	return shortest < largeLevel && own > shortest
}

// needs reports whether a request of a level needs a place that it does not have.
func needs(level int64, place int32) bool {
	return level == middleLevel && place == noPlace || level == largeLevel && place <= withMiddle
}

// level returns the level of a computing time.
func level(used time.Duration) int64 {
	switch {
	case used < firstStep:
		return 0
	case used < secondStep:
		return 1
	case used < large:
		return middleLevel
	}
	return largeLevel
}

// level returns the level of a turn that has computed for so long: that of what is expected if that
// is more.
func (t *Turn) level(used time.Duration) int64 {
	return level(max(used, time.Duration(t.request.expected.Load())))
}

// note records the level of the first request in the queue.
func (t *Turns) note() {
	first := int64(noLevel)
	if len(t.queue) > 0 {
		first = t.queue[0].level
	}
	t.shortest.Store(first)
}

// Pause gives the turn away until Resume, while the request waits for something else. It returns
// false, and does nothing, if the turn is not held.
func (t *Turn) Pause() (held bool) {
	if t == nil || !t.held {
		return false
	}
	t.held = false
	now := time.Now()
	t.used += now.Sub(t.since)
	t.request.used.Add(int64(now.Sub(t.since)))
	if t.lasting {
		t.paused = now
	}
	t.turns.pass(now)
	return true
}

// Resume waits until the request has a turn again.
func (t *Turn) Resume(ctx context.Context) error {
	if t == nil || t.held {
		return t.refused(ctx)
	}
	if err := t.refused(ctx); errors.Is(err, ErrLate) {
		return err
	}
	if t.lasting && t.used > 0 {
		t.used = max(0, t.used-time.Since(t.paused))
		t.next = t.used + burst
	}
	if err := t.turns.wait(ctx, t); err != nil {
		return busy(ctx, err)
	}
	t.held, t.since = true, time.Now()
	return nil
}

// End gives the turn away for good.
func (t *Turn) End() {
	t.Pause()
	if t == nil || !t.begun {
		return
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.ended()
}

// wait waits for a turn. A turn that has not begun does not begin if that fails.
func (t *Turns) wait(ctx context.Context, turn *Turn) error {
	begun := turn.begun
	w := t.arrive(ctx, turn)
	if w == nil {
		return nil
	}
	err := t.await(ctx, w)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn.request.failed = true
	if !begun {
		turn.ended()
	}
	return err
}

// arrive takes a free turn, or returns a waiter.
func (t *Turns) arrive(ctx context.Context, turn *Turn) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn.begin()
	r, level := turn.request, turn.level(turn.used)
	if r.client == "" {
		r.client = handleOf(ctx).client
	}
	waits := !t.takes(r, level)
	if !waits && t.free > 0 {
		t.free--
		return nil
	}
	if r.number == 0 || turn.lasting {
		t.count++
		r.number = t.count
	}
	w := &waiter{level: level, number: r.number, turn: make(chan struct{})}
	switch {
	case waits && level == largeLevel:
		t.giveMiddle(r)
		t.join(ctx, r, w)
	case waits:
		t.joinMiddle(ctx, r, w)
	default:
		t.push(w)
	}
	return w
}

// push has a waiter wait for a turn. It needs mu.
func (t *Turns) push(w *waiter) {
	heap.Push(&t.queue, w)
	t.note()
}

// await waits until a waiter has its turn.
func (t *Turns) await(ctx context.Context, w *waiter) error {
	impatient := make(<-chan time.Time)
	if w.level != 1 {
		ticker := time.NewTicker(maxWait)
		defer ticker.Stop()
		impatient = ticker.C
	}
	for {
		select {
		case <-w.turn:
			return w.err
		case <-impatient:
			switch w.level {
			case largeLevel:
				t.look()
			case middleLevel:
				t.lookMiddle(w)
			default:
				t.enter(w)
			}
		case <-ctx.Done():
			t.leave(w)
			return ctx.Err()
		}
	}
}

// enter starts a waiter in addition to the requests that hold turns, if no turn was given away
// recently and not too many were added.
func (t *Turns) enter(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.at < 0 || t.free <= t.least || time.Since(t.passed) < maxWait {
		return
	}
	t.free--
	heap.Remove(&t.queue, w.at)
	t.note()
	close(w.turn)
}

// leave removes a waiter from the queue, or passes on the turn that it got in the meantime.
func (t *Turns) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case w.request != nil:
		t.abandon(w)
	case w.at >= 0:
		heap.Remove(&t.queue, w.at)
		t.note()
	case w.err == nil:
		t.give()
	}
}

// pass gives a turn to the first waiter in the queue.
func (t *Turns) pass(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed = now
	t.give()
}

// give gives a turn back. It needs mu.
func (t *Turns) give() {
	t.free++
	t.hand()
}

// hand gives the free turns to the first waiters in the queue. It needs mu.
func (t *Turns) hand() {
	for t.free > 0 && len(t.queue) > 0 {
		t.free--
		w, _ := heap.Pop(&t.queue).(*waiter)
		close(w.turn)
	}
	t.note()
}

// A waiter waits for a turn.
type waiter struct {
	level   int64
	number  int64    // order of arrival
	at      int      // index in the queue; -1: not in it
	request *request // in whose line it waits; nil: not in the line
	err     error    // why it gets no turn; set before turn is closed
	turn    chan struct{}
}

// queue is a heap of waiters whose top goes next.
type queue []*waiter

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].level != q[j].level {
		return q[i].level < q[j].level
	}
	return q[i].number < q[j].number
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	w, _ := x.(*waiter)
	w.at = len(*q)
	*q = append(*q, w)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	w.at = -1
	(*q)[last] = nil
	*q = (*q)[:last]
	return w
}
