package webconfig

import (
	"context"
	"slices"
	"sync"
)

const (
	// longestLine is how many passwords may wait to be compared: a check at the usual cost takes 50
	// to 100 ms.
	longestLine = 8
	// mostFailures is how many addresses with a wrong password are remembered. When there are more,
	// all are forgotten.
	mostFailures = 4096
)

// A line compares one password at a time. Addresses without a wrong password go first. When the
// line is full, the addresses with the most wrong ones are refused.
type line struct {
	mu       sync.Mutex // guards all below
	busy     bool
	waiting  []*waiter
	failures map[string]int // by address
}

// waiter receives true when it is its turn, or false when it is refused.
type waiter struct {
	from string
	turn chan bool
}

func newLine() *line { return &line{failures: map[string]int{}} }

// enter returns true when it is the caller's turn; the caller then calls leave.
func (l *line) enter(ctx context.Context, from string) bool {
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
func (l *line) join(from string) *waiter {
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
		if l.failures[l.waiting[worst].from] <= l.failures[from] {
			return nil
		}
		l.waiting[worst].turn <- false
		l.waiting = slices.Delete(l.waiting, worst, worst+1)
	}
	l.waiting = append(l.waiting, w)
	return w
}

// worst returns the waiter that is refused first, the last of those with the most failures. It
// needs mu.
func (l *line) worst() int {
	worst := 0
	for i, w := range l.waiting {
		if l.failures[w.from] >= l.failures[l.waiting[worst].from] {
			worst = i
		}
	}
	return worst
}

// best returns the waiter that goes next, the first of those with the fewest failures. It needs mu.
func (l *line) best() int {
	best := 0
	for i, w := range l.waiting {
		if l.failures[w.from] < l.failures[l.waiting[best].from] {
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
func (l *line) leave(from string, success bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(from, success)
	if len(l.waiting) == 0 {
		l.busy = false
		return
	}
	next := l.best()
	l.waiting[next].turn <- true
	l.waiting = slices.Delete(l.waiting, next, next+1)
}

// remember needs mu.
func (l *line) remember(from string, success bool) {
	if success {
		delete(l.failures, from)
		return
	}
	if len(l.failures) >= mostFailures {
		clear(l.failures)
	}
	l.failures[from]++
}
