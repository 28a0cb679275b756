package query

import (
	"context"
	"slices"
)

// A request that computes for longer than the first steps, or is expected to, is of middle size until it is
// large. If many of these computed by turns all would end late, as the large ones would. So as many of
// them compute as there are cores, to their end, and the others wait in a line. They have places of their own, so
// that they wait for no large request. None is refused: their time is too short to be known.

// A middle is the places of such requests. It is guarded by the mu of Turns.
type middle struct {
	taken int
	line  []*request
}

// takeMiddle takes a place of middle size. It needs mu.
func (s *Turns) takeMiddle(r *request) bool {
	if r.place.Load() != noPlace {
		return true
	}
	if len(s.middle.line) > 0 && len(r.waiters) == 0 || !s.middleFree() {
		return false
	}
	s.beginMiddle(r)
	return true
}

// beginMiddle needs mu.
func (s *Turns) beginMiddle(r *request) {
	s.middle.taken++
	r.place.Store(withMiddle)
	s.charge(r, secondStep)
}

// middleFree reports whether one more may compute. Where they wait for the store no goroutine waits for a
// core, and all turns may be taken. It needs mu.
func (s *Turns) middleFree() bool {
	return s.middle.taken < s.cores || s.middle.taken < s.most && s.idle()
}

// giveMiddle gives a place of middle size back, and to the next in line. It needs mu.
func (s *Turns) giveMiddle(r *request) {
	if r.place.Load() != withMiddle {
		return
	}
	r.place.Store(noPlace)
	s.middle.taken--
	s.settle(r)
	s.admitMiddle()
	s.forget()
}

// joinMiddle has a request wait for a place of middle size. It needs mu.
func (s *Turns) joinMiddle(ctx context.Context, r *request, w *waiter) {
	if r.queueIn(ctx, &s.middle.line, w) {
		s.admitMiddle()
	}
}

// admitMiddle gives a place that is free to the first in line. It needs mu.
func (s *Turns) admitMiddle() {
	if len(s.middle.line) == 0 || !s.middleFree() {
		return
	}
	r := s.middle.line[first(s.middle.line, s.clients)]
	if r.place.Load() == noPlace { // else another turn of it has got one
		s.beginMiddle(r)
	}
	s.leaves(&s.middle.line, r)
	s.hand()
}

// lookMiddle lets one more compute while cores are idle.
func (s *Turns) lookMiddle(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.request != nil && slices.Contains(s.middle.line, w.request) {
		s.admitMiddle()
	}
}
