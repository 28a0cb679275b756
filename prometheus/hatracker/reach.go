package hatracker

import (
	"sync"
	"time"
)

// reach is since when the book could be reached without a break, as far as this process knows. While
// it cannot be reached nobody can be heard: such a time is no silence of a replica.
type reach struct {
	// longest is how long the book may have been asked nothing until nothing is known of that time.
	longest time.Duration

	mu    sync.Mutex // guards what follows
	since time.Time  // zero: it cannot be reached, or was never asked
	last  time.Time  // when it answered last
	away  bool       // the last question failed
}

// answered notes that the book answered.
func (r *reach) answered(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() || r.since.After(now) || now.Sub(r.last) > r.longest {
		r.since = now // also if the clock was put back
	}
	r.last, r.away = now, false
}

// failed notes that the book did not answer.
func (r *reach) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since, r.away = time.Time{}, true
}

// isAway reports whether the last question failed.
func (r *reach) isAway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away
}

// span is how long the book could be reached until now.
func (r *reach) span(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		return 0
	}
	return now.Sub(r.since)
}
