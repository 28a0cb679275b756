package query

import (
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// A Slow is a query that took long. State is that of its end, but Memory is the most that it held.
type Slow struct {
	State

	Trace  string // id of its trace, if it was sampled
	Took   time.Duration
	Failed string // why it was ended before its answer, empty if it was not
	// Plan is how it was answered, as far as its language tells; nil: nothing is known.
	Plan *Node
}

// mostSlow is how many slow queries are kept, slowText how many bytes of the text of each, and slowNodes how many
// nodes of its plan, with nodeText bytes of the text of each.
const (
	mostSlow  = 100
	slowText  = 4 << 10
	slowNodes = 100
	nodeText  = 300
)

// Watch keeps the last queries that take at least so long, and calls tell for each when it ends. It is called before
// the first query begins. 0 keeps none.
func (r *Registry) Watch(after time.Duration, tell func(Slow)) {
	r.tell = tell
	r.SetSlow(after)
}

// SetSlow changes how long a query takes that is kept; 0 keeps none.
func (r *Registry) SetSlow(after time.Duration) { r.slowAfter.Store(int64(after)) }

// Slow returns the slow queries of late, the last one first.
func (r *Registry) Slow() []Slow {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.slow)
	slices.Reverse(list)
	return list
}

// ended keeps a query that took long.
func (r *Registry) ended(q *Query, cause error) {
	took := time.Since(q.started)
	r.metrics.ended(q, took)
	if after := time.Duration(r.slowAfter.Load()); after <= 0 || took < after {
		return
	}
	s := Slow{State: q.state(), Took: took, Trace: tracing.ID(q.ctx), Plan: q.plan().Small(slowNodes, nodeText)}
	s.Text, s.Memory = CutText(s.Text, slowText), q.most()
	if cause != nil {
		s.Failed = cause.Error()
	}
	r.mu.Lock()
	if r.slow = append(r.slow, s); len(r.slow) > mostSlow {
		r.slow = slices.Delete(r.slow, 0, len(r.slow)-mostSlow)
	}
	r.mu.Unlock()
	if r.tell != nil {
		r.tell(s)
	}
}
