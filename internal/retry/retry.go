// Package retry is for work that is tried again until it succeeds: pauses that grow, and an outcome
// that tells which failures are new. It never logs and never decides what a failure is.
package retry

import (
	"context"
	"sync"
	"time"
)

// Pauses are the times between attempts: the first one, doubled after each attempt up to the
// longest.
type Pauses struct{ First, Longest time.Duration }

// Until calls try until it returns true, and then returns true. It returns false when ctx ends
// while it waits for the next attempt.
func Until(ctx context.Context, p Pauses, try func() bool) bool {
	for pause := p.First; !try(); pause = min(2*pause, p.Longest) {
		if !Sleep(ctx, pause) {
			return false
		}
	}
	return true
}

// Sleep waits. It returns false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// An Outcome is that of the last attempt at some work; its zero value is a success. Safe for
// concurrent use.
type Outcome struct {
	mu  sync.Mutex // guards err
	err error
}

// Note records an attempt. It reports whether it failed with another text than the attempt before:
// a failure to log. A failure after the end of ctx is not recorded.
func (o *Outcome) Note(ctx context.Context, err error) (news bool) {
	if err != nil && ctx.Err() != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	news = err != nil && (o.err == nil || o.err.Error() != err.Error())
	o.err = err
	return news
}

// Set records what is known without an attempt, or before the first one.
func (o *Outcome) Set(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// Err returns why the last attempt failed, nil if it succeeded.
func (o *Outcome) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
