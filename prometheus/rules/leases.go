package rules

import (
	"time"

	promrules "github.com/prometheus/prometheus/rules"
)

// A Lease is what this process knows of which process evaluates a group.
type Lease struct {
	Group     string    `json:"group"`
	File      string    `json:"file"`
	Held      bool      `json:"held"`      // by this process
	Known     bool      `json:"known"`     // it could be read the last time
	Until     time.Time `json:"until"`     // nobody else takes it before, if Held
	Evaluated time.Time `json:"evaluated"` // up to where, by any process; zero: not known
}

// Leases returns those of the groups that are evaluated, in their order; none if no other process shares the store.
func (s *Service) Leases() []Lease {
	all := []Lease{}
	if s.o.Leases == nil {
		return all
	}
	for _, g := range s.RuleGroups() {
		lease := Lease{Group: g.Name(), File: g.File()}
		if known := s.shifts.lease(promrules.GroupKey(g.File(), g.Name())); known != nil {
			lease.Held, lease.Known, lease.Until, lease.Evaluated = known.Held, known.Known, known.Until, known.Evaluated
		}
		all = append(all, lease)
	}
	return all
}

// lease returns the lease of a group without its names; nil: the group has not had a turn yet.
func (s *shifts) lease(key string) *Lease {
	s.mu.Lock()
	t := s.turns[key]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.state()
}

// state returns the lease. It waits for nothing: while the lease is read or written it is the one from before, nil if
// there was none.
func (t *turn) state() *Lease {
	if t.mu.TryLock() {
		defer t.mu.Unlock()
		t.shown.Store(&Lease{Held: t.mine, Known: t.leased, Until: t.until, Evaluated: t.done})
	}
	return t.shown.Load()
}
