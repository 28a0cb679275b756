package query

import (
	"fmt"
)

// Estimated marks a query whose memory is estimated and charged in advance, as that of Prometheus'
// engine, until done is called. Where only the results show the memory, as with the series that
// count_values makes, it may be more.
func (q *Query) Estimated() (done func()) {
	if q == nil {
		return func() {}
	}
	q.estimated.Add(1)
	return func() { q.estimated.Add(-1) }
}

// AnyEstimated reports whether there are queries whose memory is estimated.
func (r *Registry) AnyEstimated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ending()) > 0
}

// EndEstimated ends all queries whose memory is estimated: it is not known which of them took more.
// The cause of their contexts is budget.ErrTooLarge.
func (r *Registry) EndEstimated() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.ending() {
		q.end(fmt.Errorf("evaluation: %w", ErrTooLarge))
	}
}
