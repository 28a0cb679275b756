// Package turns shares the right to compute among requests: a few compute at once, and of those
// that wait the one goes on that has computed least so far. So a short request is answered soon,
// however many long ones there are. A request that computes long gives its turn away for a while
// where it calls Yield. The package knows no language and no memory.
package turns

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// slice is how long a request computes before it lets others that wait go first, but for its first
// steps: nearly all requests have ended after one of these, and many that come at once should not
// wait for a slice of each.
const (
	slice      = 50 * time.Millisecond
	firstStep  = 2 * time.Millisecond
	secondStep = 10 * time.Millisecond
)

// mostLevels is how many levels of what has been used there are: two steps, then slices. Requests
// that have used more are equal. They do not yield to each other, or all would end late.
const mostLevels = 22

// patience is how long a request that has hardly computed waits while those who hold the turns do
// not yield, as an engine of others does not. It is then let in beside them: at most extra times
// the turns, so that short requests are answered and the cores still have few to share among.
const (
	patience = 2 * slice
	extra    = 4
)

// breath is how long a request computes before the other goroutines that can run go first.
const breath = time.Millisecond

// nobody is more than anybody has used.
const nobody = mostLevels + 1

// Turns are shared by all requests of a kind. They are safe for concurrent use.
type Turns struct {
	// the level of the first of queue; nobody's without one. To be looked at without mu
	shortest atomic.Int64

	mu     sync.Mutex // guards all below
	free   int        // below 0: so many were let in beside the others
	least  int        // of free
	passed time.Time  // when a turn was given away last
	queue  queue
	count  int64 // of those that came to wait so far
}

// mostPerCore is how many requests for each core compute at once at most, whatever else is allowed.
// Some of them wait for a store. More requests that compute would make all other goroutines wait
// for their 10 ms each.
const mostPerCore = 4

// FreeBytes is how many bytes of parameters a request may have to be parsed without a turn.
const FreeBytes = 8 << 10

// New returns turns for n requests at once, at least 1 and at most mostPerCore for each core.
func New(n int) *Turns {
	n = max(1, min(n, mostPerCore*runtime.GOMAXPROCS(0)))
	t := &Turns{free: n, least: -extra * n}
	t.shortest.Store(nobody)
	return t
}

// A Turn is one request's. It is used by one goroutine at a time. A nil Turn never waits.
type Turn struct {
	turns *Turns
	held  bool
	since time.Time     // held since then
	used  time.Duration // before that
	next  time.Duration // of what is used: then others of the process go first

	lasting bool
	paused  time.Time // of one that is lasting
}

// Begin waits for a turn. End must be called at the end.
func (t *Turns) Begin(ctx context.Context) (*Turn, error) {
	turn := t.Later()
	return turn, turn.Resume(ctx)
}

// Later is a turn that begins with Resume.
func (t *Turns) Later() *Turn { return &Turn{turns: t, next: breath} }

// Lasting is a turn for a connection, which works and waits for its client again and again: what it
// has used is forgotten as it waits, as fast as it used it. It begins with Resume. Without Turns it
// never waits.
func (t *Turns) Lasting() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{turns: t, next: breath, lasting: true}
}

// Fork is a turn for another goroutine of the request, which begins with Resume. It has used what
// this one has.
func (t *Turn) Fork() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{turns: t.turns, used: t.used, next: t.used + breath}
}

// Yield lets others go first that have computed less, by a slice at least. It returns the error of
// a context that has ended.
func (t *Turn) Yield(ctx context.Context) error {
	if !t.Wanted() {
		return ctx.Err()
	}
	t.Pause()
	return t.Resume(ctx)
}

// Wanted says whether Yield would give the turn away. It reads the clock, and lets other goroutines
// run each breath.
func (t *Turn) Wanted() bool {
	if t == nil || !t.held {
		return false
	}
	used := t.used + time.Since(t.since)
	if used >= t.next { // whatever else the process does must not wait for the ends of its 10 ms
		t.next = used + breath
		runtime.Gosched()
	}
	shortest := t.turns.shortest.Load()
	return shortest < mostLevels && level(used) > shortest
}

// level is how much of a time counts.
func level(used time.Duration) int64 {
	switch {
	case used < firstStep:
		return 0
	case used < secondStep:
		return 1
	}
	return min(2+int64(used/slice), mostLevels)
}

// note says who is first.
func (t *Turns) note() {
	first := int64(nobody)
	if len(t.queue) > 0 {
		first = t.queue[0].used
	}
	t.shortest.Store(first)
}

// Pause gives the turn away until Resume: the request waits for something else. Without a turn
// nothing happens.
func (t *Turn) Pause() {
	if t == nil || !t.held {
		return
	}
	t.held = false
	now := time.Now()
	t.used += now.Sub(t.since)
	if t.lasting {
		t.paused = now
	}
	t.turns.pass(now)
}

// Resume waits for the turn again.
func (t *Turn) Resume(ctx context.Context) error {
	if t == nil || t.held {
		return ctx.Err()
	}
	if t.lasting && t.used > 0 {
		t.used = max(0, t.used-time.Since(t.paused))
		t.next = t.used + breath
	}
	if err := t.turns.wait(ctx, level(t.used)); err != nil {
		return err
	}
	t.held, t.since = true, time.Now()
	return nil
}

// End gives the turn away for good.
func (t *Turn) End() { t.Pause() }

func (t *Turns) wait(ctx context.Context, used int64) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	t.count++
	w := &waiter{used: used, number: t.count, turn: make(chan struct{})}
	heap.Push(&t.queue, w)
	t.note()
	t.mu.Unlock()
	impatient := make(<-chan time.Time)
	if used == 0 {
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		impatient = ticker.C
	}
	for {
		select {
		case <-w.turn:
			return nil
		case <-impatient:
			t.enter(w)
		case <-ctx.Done():
			t.leave(w)
			return ctx.Err()
		}
	}
}

// enter lets a waiter in beside those who hold turns, if none of them has given one away of late
// and it is not too many.
func (t *Turns) enter(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.at < 0 || t.free <= t.least || time.Since(t.passed) < patience {
		return
	}
	t.free--
	heap.Remove(&t.queue, w.at)
	t.note()
	close(w.turn)
}

// leave takes a waiter out of the queue, or passes on the turn that it got meanwhile.
func (t *Turns) leave(w *waiter) {
	t.mu.Lock()
	waiting := w.at >= 0
	if waiting {
		heap.Remove(&t.queue, w.at)
		t.note()
	}
	t.mu.Unlock()
	if !waiting {
		t.pass(time.Now())
	}
}

// pass gives a turn to whoever is first in the queue.
func (t *Turns) pass(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed = now
	if len(t.queue) == 0 || t.free < 0 {
		t.free++
		return
	}
	w, _ := heap.Pop(&t.queue).(*waiter)
	t.note()
	close(w.turn)
}

// A waiter waits for a turn.
type waiter struct {
	used   int64 // level
	number int64 // in the order in which they came
	at     int   // in the queue, -1 when it is in none
	turn   chan struct{}
}

// queue is a heap of waiters, the first to go on at its top.
type queue []*waiter

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].used != q[j].used {
		return q[i].used < q[j].used
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

type turnKey struct{}

// With returns a context in which From finds the turn.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From returns the turn of the request that ctx belongs to, nil if it has none.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}
