package query

import (
	"context"
	"slices"
	"time"
)

// mostInLine bounds the large requests that wait.
const mostInLine = 256

// finish is when a request would end if each client had a core of its own, and had used it as much
// as it did. Who would end first goes first: a small request before a large one, a client before
// another one that has had much, and all in the end.
func (r *request) finish(client time.Time) time.Time {
	begin := r.arrived
	if client.After(begin) {
		begin = client
	}
	return begin.Add(r.cost())
}

// first returns the index of the request that goes first, with the times of the clients. It needs mu.
func first(line []*request, clients map[string]time.Time) (best int) {
	var earliest time.Time
	for i, r := range line {
		if at := r.finish(clients[r.client]); i == 0 || at.Before(earliest) {
			best, earliest = i, at
		}
	}
	return best
}

// queueIn adds a waiter of a request to a line. It reports whether the request is new there. It needs
// the mu of Turns.
func (r *request) queueIn(ctx context.Context, line *[]*request, w *waiter) bool {
	w.at, w.request = -1, r
	if r.waiters = append(r.waiters, w); len(r.waiters) > 1 {
		return false
	}
	r.arrived = time.Now()
	r.deadline, _ = deadlineOf(ctx)
	*line = append(*line, r)
	return true
}

// join has a large request wait for its place. If too many wait, the one that would go last is
// refused. It needs mu.
func (s *places) join(ctx context.Context, r *request, w *waiter) {
	if !r.queueIn(ctx, &s.line, w) {
		return
	}
	if len(s.line) > mostInLine {
		order := s.ordered()
		s.refuse(order[len(order)-1], s.ahead(order))
	}
	s.refuseLate()
}

// leaves takes a request out of a line: its waiters wait for a turn. It needs mu.
func (s *Turns) leaves(line *[]*request, r *request) {
	*line = slices.DeleteFunc(*line, func(o *request) bool { return o == r })
	for _, w := range r.waiters {
		w.request = nil
		s.push(w)
	}
	r.waiters = nil
}

// admit gives free places to requests in line. It needs mu.
func (s *Turns) admit() {
	for s.taken < s.open && len(s.line) > 0 {
		r := s.line[first(s.line, s.clients)]
		s.takePlace(r)
		s.leaves(&s.line, r)
	}
	if len(s.line) == 0 && len(s.large) == 0 {
		s.open = s.cores
	}
	s.forget()
	s.hand()
	s.refuseLate()
}

// forget forgets what the clients have had, when nobody has a place or waits for one. It needs mu.
func (s *Turns) forget() {
	if len(s.line) == 0 && len(s.large) == 0 && s.middle.taken == 0 && len(s.middle.line) == 0 {
		clear(s.clients)
	}
}

// certain is how many times as long as its time the wait of a request must be until it is refused:
// the speed is only about known.
const certain = 1.5

// pace is how many nanoseconds of expected work are done in one, at the speed of the requests that have
// ended. It needs mu.
func (s *places) pace() float64 { return s.speed * float64(s.open) }

// left returns the expected work that those with places have left, in nanoseconds. It needs mu.
func (s *places) left(now time.Time) (left float64) {
	for _, r := range s.large {
		left += max(0, float64(r.charged)-s.speed*float64(now.Sub(r.placed)))
	}
	return left
}

// ahead returns how long it will take until all of a line have ended; 0: that is not known. It needs mu.
func (s *places) ahead(line []*request) time.Duration {
	if s.speed == 0 {
		return 0
	}
	work := s.left(time.Now())
	for _, r := range line {
		work += float64(r.cost())
	}
	return time.Duration(work / s.pace())
}

// refuseLate refuses the requests in line that would not begin within their time, at the speed of
// those that have ended. It needs mu.
func (s *places) refuseLate() {
	if s.speed == 0 || len(s.line) == 0 {
		return
	}
	now := time.Now()
	work := s.left(now) // until a request begins
	for _, r := range s.ordered() {
		begins := time.Duration(work / s.pace())
		if !r.deadline.IsZero() && now.Add(time.Duration(float64(begins)/certain)).After(r.deadline) {
			s.refuse(r, begins)
			continue
		}
		work += float64(r.cost())
	}
}

// ordered returns the line in the order in which it will go. It needs mu.
func (s *places) ordered() []*request {
	byClient, clients := map[string][]*request{}, map[string]time.Time{}
	for _, r := range s.line {
		byClient[r.client] = append(byClient[r.client], r)
		clients[r.client] = s.clients[r.client]
	}
	heads := make([]*request, 0, len(byClient))
	for client, own := range byClient {
		slices.SortFunc(own, func(a, b *request) int {
			return a.finish(clients[client]).Compare(b.finish(clients[client]))
		})
		heads = append(heads, own[0])
	}
	out := make([]*request, 0, len(s.line))
	for len(heads) > 0 {
		i := first(heads, clients)
		r := heads[i]
		out = append(out, r)
		clients[r.client] = r.finish(clients[r.client])
		if own := byClient[r.client][1:]; len(own) > 0 {
			byClient[r.client], heads[i] = own, own[0]
		} else {
			heads = slices.Delete(heads, i, i+1)
		}
	}
	return out
}

// refuse ends the wait of a request, which would have begun after some time. It needs mu.
func (s *places) refuse(r *request, begins time.Duration) {
	r.failed, r.late = true, lateError{begins}
	r.place.Store(refused)
	for _, w := range r.waiters {
		w.request, w.err = nil, r.late
		close(w.turn)
	}
	r.waiters = nil
	s.line = slices.DeleteFunc(s.line, func(o *request) bool { return o == r })
}

// abandon takes a waiter out of its line. It needs mu.
func (s *Turns) abandon(w *waiter) {
	r := w.request
	w.request = nil
	if r.waiters = slices.DeleteFunc(r.waiters, func(o *waiter) bool { return o == w }); len(r.waiters) == 0 {
		s.line = slices.DeleteFunc(s.line, func(o *request) bool { return o == r })
		s.middle.line = slices.DeleteFunc(s.middle.line, func(o *request) bool { return o == r })
	}
}
