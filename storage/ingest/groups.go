package ingest

import (
	"context"
	"slices"
	"sync"
)

// GroupPoints bounds the points of a group. A write of more is a group of its own.
const GroupPoints = 64 << 10

// Groups combines writes. While every slot is in use, new writes wait together; when a slot becomes
// free, the first of them commits the whole group. So many writes of a few points each cost the
// store as little as one write of many points.
type Groups[S any, W comparable] struct {
	slots  chan S
	points func(W) int
	// commit writes what the members of a group are about and keeps the outcome in each; it returns
	// the slot for the next one.
	commit func(ctx context.Context, slot S, members []W) S
	// abandon keeps in each member that its leader's time ended before its turn came.
	abandon func(members []W, err error)

	mu      sync.Mutex // guards all below, and the groups
	forming *group[W]  // that takes more members; nil: none
}

// group is writes that are committed together.
type group[W comparable] struct {
	members []W
	points  int
	begun   bool          // the members are in use, none can leave
	done    chan struct{} // closed when each member knows what became of it
}

// NewGroups returns groups that as many commits at once are made of as there are slots.
func NewGroups[S any, W comparable](slots []S, points func(W) int, commit func(context.Context, S, []W) S, abandon func([]W, error)) *Groups[S, W] {
	g := &Groups[S, W]{slots: make(chan S, len(slots)), points: points, commit: commit, abandon: abandon}
	for _, slot := range slots {
		g.slots <- slot
	}
	return g
}

// Do returns when a write knows what became of it, or with an error when ctx ended before anybody
// began with it.
func (g *Groups[S, W]) Do(ctx context.Context, w W) error {
	own, leads := g.join(w)
	if leads {
		g.lead(ctx, own)
		return nil
	}
	select {
	case <-own.done:
		return nil
	case <-ctx.Done():
	}
	if g.leave(own, w) {
		return ctx.Err()
	}
	<-own.done // the write is in use
	return nil
}

// join adds a write to the group that is forming, or begins one, which the caller leads.
func (g *Groups[S, W]) join(w W) (own *group[W], leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own = g.forming
	if own == nil || own.points+g.points(w) > GroupPoints {
		own, leads = &group[W]{done: make(chan struct{})}, true
		g.forming = own
	}
	own.members = append(own.members, w)
	own.points += g.points(w)
	return own, leads
}

// leave takes a write out of a group again, unless it is too late.
func (g *Groups[S, W]) leave(own *group[W], w W) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if own.begun {
		return false
	}
	own.members = slices.DeleteFunc(own.members, func(other W) bool { return other == w })
	own.points -= g.points(w)
	return true
}

// lead waits for a slot, and commits what has joined the group until then.
func (g *Groups[S, W]) lead(ctx context.Context, own *group[W]) {
	defer close(own.done)
	select {
	case slot := <-g.slots:
		g.slots <- g.commit(ctx, slot, g.begin(own))
		return
	default: // Done may begin a timer
	}
	select {
	case slot := <-g.slots:
		g.slots <- g.commit(ctx, slot, g.begin(own))
	case <-ctx.Done():
		g.abandon(g.begin(own), ctx.Err())
	}
}

// begin closes a group for those who would join or leave.
func (g *Groups[S, W]) begin(own *group[W]) []W {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forming == own {
		g.forming = nil
	}
	own.begun = true
	return own.members
}
