package rules

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"
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

// shifts know which groups this process evaluates.
type shifts struct {
	leases    Leases // nil: no other process shares the store
	queryable promstorage.Queryable
	tolerance time.Duration // Options.OutageTolerance
	logger    *slog.Logger
	now       func() time.Time
	twin      func(g *promrules.Group) (*promrules.Group, error) // makes another group of the same rules
	write     promstorage.Appendable

	mu    sync.Mutex // guards turns
	turns map[string]*turn
}

func newShifts(o Options) *shifts {
	return &shifts{leases: o.Leases, queryable: o.Queryable, tolerance: o.OutageTolerance, write: o.Appendable, logger: o.Logger, now: o.Now, turns: map[string]*turn{}}
}

// turn returns what is known of the lease of a group.
func (s *shifts) turn(g *promrules.Group) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := promrules.GroupKey(g.File(), g.Name())
	t := s.turns[key]
	if t == nil {
		t = &turn{leases: s.leases, key: key, now: s.now, read: s.now()}
		s.turns[key] = t
	}
	return t
}

// keepOnly notes which groups there are. One that comes back later begins anew.
func (s *shifts) keepOnly(groups []*promrules.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for _, g := range groups {
		there[promrules.GroupKey(g.File(), g.Name())] = true
	}
	for key, t := range s.turns {
		if !there[key] {
			t.set(false, 0)
			t.present.Store(nil)
		}
	}
}

// release gives all leases back.
func (s *shifts) release(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		t.release(ctx)
	}
}

// An evaluation evaluates the rules of a group once.
type evaluation func(ctx context.Context, g *promrules.Group, at time.Time)

// inTurn evaluates a group if this process has its lease, and at the instants that were missed since another process
// had it, or since the store was away.
func (s *shifts) inTurn(ctx context.Context, g *promrules.Group, at time.Time, evaluate evaluation) {
	if s.leases == nil {
		evaluate(ctx, g, at)
		return
	}
	t := s.turn(g)
	held, was := t.hold(ctx, leaseLength(g.Interval()))
	if held {
		work, stop := t.keep(ctx)
		s.catchUp(work, t, iteration{g, at, evaluate})
		stop()
	}
	if (held || was) && !t.has() {
		t.forget()
		forgetAlerts(g, at)
	}
}

// complete reports whether all rules of a group were evaluated since an instant. A group that is stopped leaves
// out the last ones.
func complete(g *promrules.Group, since time.Time) bool {
	for _, r := range g.Rules() {
		if r.GetEvaluationTimestamp().Before(since) {
			return false
		}
	}
	return true
}

// mostMissed is how many evaluations are made up.
const mostMissed = 1000

// missed returns the instants of a group between the last evaluation and one, the last ones if they are too many.
func missed(g *promrules.Group, done, at time.Time) (all []time.Time) {
	if done.IsZero() {
		return nil
	}
	interval := g.Interval()
	from := g.EvalTimestamp(done.UnixNano()).Add(interval) // the interval may have been another one
	if first := at.Add(-mostMissed * interval); from.Before(first) {
		from = first
	}
	for ; from.Before(at); from = from.Add(interval) {
		all = append(all, from)
	}
	return all
}

// passKey finds the pass of an evaluation in its context.
type passKey struct{}

// A pass is an evaluation of a group by the lease of this process.
type pass struct {
	turn  *turn
	late  time.Duration // since the instant
	muted bool          // nothing is written: another process has done that
	// beside is what evaluates the present meanwhile, nil: nothing does. It has evaluated this instant too if besideWrote.
	beside      *present
	besideWrote bool
	failed      atomic.Bool // the store failed
}

func passOf(ctx context.Context) *pass {
	p, _ := ctx.Value(passKey{}).(*pass)
	return p
}

// ended returns the turn of a group that has ended, whose series the manager marks as stale a while later; nil if
// this process does not have its lease, because another one goes on with the group.
func (s *shifts) ended(ctx context.Context) *turn {
	origin, _ := ctx.Value(promql.QueryOrigin{}).(map[string]any)
	group, _ := origin["ruleGroup"].(map[string]string)
	s.mu.Lock()
	t := s.turns[promrules.GroupKey(group["file"], group["name"])]
	s.mu.Unlock()
	if t == nil || !t.renew(ctx) {
		return nil
	}
	return t
}
