package webconfig

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

const (
	// longestLine is how many passwords of a user may wait: a check at the usual cost takes 50 to 100 ms.
	longestLine = 64
	// mostFailures is how many clients of a line with a wrong password are remembered. When there are
	// more, all are forgotten.
	mostFailures = 1024
)

// A line lets in one password of a user at a time. Every second turn is that of the client with the fewest
// wrong passwords: by its address, then by its connection, which tells clients behind one address apart. The turns
// between are those of who has waited longest, so that nobody waits for ever. When the line is full, the client
// with the most wrong passwords is refused.
type line struct {
	mu       sync.Mutex // guards all below
	busy     bool
	fair     bool // the next turn is that of the longest waiting
	waiting  []*waiter
	failures map[string]int // by address, and by connection
}

// waiter receives true when it is its turn, or false when it is refused.
type waiter struct {
	from client
	turn chan bool
}

func newLine() *line { return &line{failures: map[string]int{}} }

// enter returns true when it is the caller's turn; the caller then calls leave.
func (l *line) enter(ctx context.Context, from client) bool {
	w := l.join(from)
	if w == nil {
		return false
	}
	select {
	case ok := <-w.turn:
		return ok
	case <-ctx.Done():
	}
	if l.quit(w) {
		return false
	}
	return <-w.turn // the answer came together with the end of ctx: it counts
}

// join adds a waiter, nil if there is no place for it.
func (l *line) join(from client) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{from, make(chan bool, 1)}
	if !l.busy {
		l.busy = true
		w.turn <- true
		return w
	}
	if len(l.waiting) == longestLine {
		worst := l.worst()
		if l.compare(l.waiting[worst].from, from) <= 0 {
			return nil
		}
		l.waiting[worst].turn <- false
		l.waiting = slices.Delete(l.waiting, worst, worst+1)
	}
	l.waiting = append(l.waiting, w)
	return w
}

// compare compares the failures of two clients. It needs mu.
func (l *line) compare(a, b client) int {
	return cmp.Or(cmp.Compare(l.failures[a.address], l.failures[b.address]), cmp.Compare(l.failures[a.connection], l.failures[b.connection]))
}

// worst returns the waiter that is refused first, the last of those with the most failures. It
// needs mu.
func (l *line) worst() int {
	worst := 0
	for i, w := range l.waiting {
		if l.compare(w.from, l.waiting[worst].from) >= 0 {
			worst = i
		}
	}
	return worst
}

// best returns the waiter that goes next, the first of those with the fewest failures. It needs mu.
func (l *line) best() int {
	best := 0
	for i, w := range l.waiting {
		if l.compare(w.from, l.waiting[best].from) < 0 {
			best = i
		}
	}
	return best
}

// quit removes a waiter that gives up. It reports false if the waiter has been answered.
func (l *line) quit(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	}
	return at >= 0
}

// leave lets the next one in.
func (l *line) leave(from client, v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(from, v)
	if len(l.waiting) == 0 {
		l.busy = false
		return
	}
	next := 0
	if !l.fair {
		next = l.best()
	}
	l.fair = !l.fair
	l.waiting[next].turn <- true
	l.waiting = slices.Delete(l.waiting, next, next+1)
}

// remember needs mu.
func (l *line) remember(from client, v verdict) {
	switch v {
	case right:
		delete(l.failures, from.address)
		delete(l.failures, from.connection)
	case wrong:
		if len(l.failures) >= mostFailures {
			clear(l.failures)
		}
		l.failures[from.address]++
		l.failures[from.connection]++
	case unknown:
	}
}
