package query

import (
	"context"
	"fmt"
	"sync"

	"github.com/tsdbridge/tsdbridge/budget"
)

// Running holds the queries that Prometheus' engine evaluates, so that they can be ended from
// outside. Their memory is estimated and charged in advance, except where only the results show it,
// as with the series that count_values makes. It is safe for concurrent use.
type Running struct {
	mu   sync.Mutex // guards all below
	ends map[int]context.CancelCauseFunc
	next int
}

// NewRunning returns an empty set.
func NewRunning() *Running {
	return &Running{ends: map[int]context.CancelCauseFunc{}}
}

// Add registers a query until done is called.
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

// Any reports whether there are queries.
func (r *Running) Any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ends) > 0
}

// EndAll ends all queries: it is not known which of them took the memory.
func (r *Running) EndAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range r.ends {
		end(fmt.Errorf("evaluation: %w", budget.ErrTooLarge))
	}
	clear(r.ends)
}
