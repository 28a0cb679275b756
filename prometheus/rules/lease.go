package rules

import (
	"context"
	"sync"
	"time"

	promrules "github.com/prometheus/prometheus/rules"
)

// Leases decide which of the processes that share a store evaluates a group, and keep up to which instant it
// was evaluated.
type Leases interface {
	Hold(ctx context.Context, name string, length time.Duration) (held bool, done time.Time, err error)
	Note(ctx context.Context, name string, done time.Time, length time.Duration) (held bool, err error)
	Release(ctx context.Context, name string) error
}

// leaseLength is how long a lease lasts without being renewed: two evaluations may be late.
func leaseLength(interval time.Duration) time.Duration { return 2*interval + 10*time.Second }

// mostMissed is how many evaluations are made up when a group is taken over.
const mostMissed = 1000

// shifts remember which groups this process evaluates.
type shifts struct {
	leases Leases // nil: no other process shares the store

	mu   sync.Mutex
	mine map[string]bool // by the key of the group
}

// set notes whether a group is this process', and reports whether it was.
func (s *shifts) set(key string, mine bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mine == nil {
		s.mine = map[string]bool{}
	}
	was = s.mine[key]
	s.mine[key] = mine
	return was
}

// release gives all leases back.
func (s *shifts) release(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, mine := range s.mine {
		if mine {
			_ = s.leases.Release(ctx, key) // it ends by itself
		}
	}
	s.mine = nil
}

// inTurn evaluates a group if this process has its lease. One that has been taken over is evaluated first at
// the instants that were missed. If the lease cannot be read, the group is evaluated: twice is better than
// not at all.
func (s *shifts) inTurn(ctx context.Context, g *promrules.Group, at time.Time, evaluate func(at time.Time)) {
	if s.leases == nil {
		evaluate(at)
		return
	}
	key, length := promrules.GroupKey(g.File(), g.Name()), leaseLength(g.Interval())
	held, done, err := s.leases.Hold(ctx, key, length)
	if err != nil {
		evaluate(at)
		return
	}
	was := s.set(key, held)
	switch {
	case !held:
		if was {
			forgetAlerts(g, at)
		}
		return
	case !was:
		s.takeOver(ctx, g, missed(done, at, g.Interval()), evaluate)
	}
	evaluate(at)
	if held, err = s.leases.Note(ctx, key, at, length); err == nil && !held {
		s.set(key, false)
		forgetAlerts(g, at)
	}
}

// missed returns the instants between the last evaluation and one, the last ones if they are too many.
func missed(done, at time.Time, interval time.Duration) (all []time.Time) {
	if done.IsZero() {
		return nil
	}
	from := done.Add(interval)
	if first := at.Add(-mostMissed * interval); from.Before(first) {
		from = first
	}
	for ; from.Before(at); from = from.Add(interval) {
		all = append(all, from)
	}
	return all
}

// takeOver evaluates the instants that were missed. The state of alerts goes on from what the process before
// has stored.
func (s *shifts) takeOver(ctx context.Context, g *promrules.Group, instants []time.Time, evaluate func(at time.Time)) {
	for i, at := range instants {
		if ctx.Err() != nil {
			return
		}
		if i == 0 {
			for _, r := range g.AlertingRules() {
				r.SetRestored(false)
			}
		}
		evaluate(at)
		if i == 0 {
			g.RestoreForState(at)
		}
	}
}

// forgetAlerts has the manager forget the alerts of a group that another process evaluates: they would come
// back as they were.
func forgetAlerts(g *promrules.Group, at time.Time) {
	for _, r := range g.AlertingRules() {
		r.ForEachActiveAlert(func(a *promrules.Alert) {
			a.State, a.ResolvedAt, a.LastSentAt = promrules.StateInactive, time.Unix(1, 0), at
		})
	}
}
