package query

import (
	"slices"
	"time"
)

// A request that computes for two slices (the constant large), or is expected to, is large. If all large
// requests shared the cores, all of them would end late, and most of them too late. So a large
// request computes only while it has a place. There is a place for each core, a request keeps its
// place to its end, and the others wait in the line before they hold memory. There are more places,
// up to the number of turns, while cores are idle, and for requests that are far cheaper than those
// that have the places.

// Where a request is in regard to places.
const (
	noPlace    = iota
	withMiddle // a place among those of middle size
	withPlace  // one of its own among the large ones
	needsNone  // it may compute without
	refused    // it would have begun too late
)

// places are those of large requests, and the line of those that wait for one. They are guarded by the mu of
// Turns.
type places struct {
	most  int // that there may be
	cores int // that there are if no core is idle
	open  int // that there are now
	taken int
	large []*request // those with a place
	line  []*request // those without
	// clients is until when each has used a core of its own.
	clients map[string]time.Time
	speed   float64     // computing time that a large request had in a time, of what was expected
	idle    func() bool // whether cores are idle
	looked  time.Time   // at the cores
	quiet   int         // times in a row that they were idle
}

// PauseForClient is Pause while the request waits for its client, or for another request. A request
// leaves its place for that, and needs none any more.
func (t *Turn) PauseForClient() {
	t.Pause()
	if t == nil || !placed(t.request.place.Load()) {
		return
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.giveMiddle(t.request)
	t.turns.givePlace(t.request)
	t.request.place.Store(needsNone)
}

func placed(place int32) bool { return place == withMiddle || place == withPlace }

// hasPlace reports whether a request of a level may go on. It takes a place that is free.
func (s *Turns) hasPlace(r *request, level int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takes(r, level)
}

// takes takes the place that a request of a level needs, if it is free. It needs mu.
func (s *Turns) takes(r *request, level int64) bool {
	switch level {
	case largeLevel:
		return s.takePlace(r)
	case middleLevel:
		return s.takeMiddle(r)
	}
	return true
}

// takePlace needs mu.
func (s *Turns) takePlace(r *request) bool {
	if r.place.Load() > withMiddle {
		return true
	}
	if free := s.taken < s.open && (len(s.line) == 0 || len(r.waiters) > 0); !free && !s.farCheaper(r) {
		return false
	}
	s.giveMiddle(r)
	s.taken++
	r.place.Store(withPlace)
	s.charge(r, large)
	s.large = append(s.large, r)
	return true
}

// mostClients is how many clients are known before those are forgotten whose time is over.
const mostClients = 10_000

// charge notes what a request with a place is expected to take of its client. It needs mu.
func (s *places) charge(r *request, least time.Duration) {
	r.placed, r.charged = time.Now(), max(r.cost(), least)
	at := s.clients[r.client]
	if r.placed.After(at) {
		at = r.placed
	}
	if len(s.clients) > mostClients {
		for client, until := range s.clients {
			if until.Before(r.placed) {
				delete(s.clients, client)
			}
		}
	}
	s.clients[r.client] = at.Add(r.charged)
}

// settle corrects what was charged. It needs mu.
func (s *places) settle(r *request) {
	if at, ok := s.clients[r.client]; ok {
		s.clients[r.client] = at.Add(time.Duration(r.used.Load()) - r.charged)
	}
}

// farCheaper reports whether a request costs a small part of what each one with a place has left to do.
// It does not wait for them, and takes little from them. It needs mu.
func (s *places) farCheaper(r *request) bool {
	const part = 4
	now, cost := time.Now(), r.cost()
	if r.expected.Load() <= r.used.Load() {
		return false // its cost is not known
	}
	return s.taken < s.most && !slices.ContainsFunc(s.large, func(o *request) bool {
		left := o.charged - now.Sub(o.placed)
		return max(left, -left) < part*cost // one that takes longer than was expected may take as much again
	})
}

// givePlace gives the place of a request to the next in line. It needs mu.
func (s *Turns) givePlace(r *request) {
	if r.place.Load() != withPlace {
		return
	}
	r.place.Store(noPlace)
	s.taken--
	s.large = slices.DeleteFunc(s.large, func(o *request) bool { return o == r })
	s.settle(r)
	if took := time.Since(r.placed); took > slice && !r.failed {
		s.speed = smooth(s.speed, float64(r.charged)/float64(took))
	}
	s.admit()
}

// smooth returns a mean of late values.
func smooth(mean, value float64) float64 {
	if mean == 0 {
		return value
	}
	return mean + (value-mean)/4
}

// quietLooks is how many times in a row cores must be idle until there are more places.
const quietLooks = 2

// look makes more places if requests wait for a place while cores are idle, because those with a
// place wait for the store, and fewer when no core is idle.
func (s *Turns) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.looked) < maxWait/2 {
		return
	}
	s.looked = now
	if !s.idle() {
		s.quiet, s.open = 0, max(s.open-1, s.cores)
		return
	}
	if s.quiet++; s.quiet >= quietLooks && s.open < s.most {
		s.quiet, s.open = 0, min(2*s.open, s.most)
		s.admit()
	}
}
