package query

import (
	"context"
	"fmt"
	"sync"

	"github.com/tsdbridge/tsdbridge/budget"
)

// Running are the queries that Prometheus' engine evaluates, which can be ended from outside. What they take is foreseen and charged, but
// for what only their results tell, such as the series that count_values makes. Safe for concurrent use.
type Running struct {
	mu   sync.Mutex // guards all below
	ends map[int]context.CancelCauseFunc
	next int
}

func NewRunning() *Running {
	return &Running{ends: map[int]context.CancelCauseFunc{}}
}

// Add adds a query until done is called.
func (r *Running) Add(end context.CancelCauseFunc) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.ends[id] = end
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.ends, id)
	}
}

func (r *Running) Any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ends) > 0
}

// EndAll ends all queries: nobody knows which of them has taken the memory.
func (r *Running) EndAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range r.ends {
		end(fmt.Errorf("evaluation: %w", budget.ErrTooLarge))
	}
	clear(r.ends)
}
