package resultcache

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/storage/store"
)

// A Reach is which points an evaluation depends on.
type Reach struct {
	from, to int64 // milliseconds, both included
	shape    shape
	names    func(metric string) string
}

// ReachOf returns the reach of a statement that an engine has made, with the step of its subqueries
// without one. names returns the value of __name__ for a stored metric. It returns false if the reach is
// not known.
func ReachOf(s *parser.EvalStmt, defaultStep time.Duration, names func(metric string) string) (Reach, bool) {
	shape, ok := shapeOf(s.Expr, s.LookbackDelta.Milliseconds(), defaultStep.Milliseconds())
	if !ok {
		return Reach{}, false
	}
	return Reach{s.Start.UnixMilli() - shape.oldest, s.End.UnixMilli() - shape.newest, shape, names}, true
}

// Reach returns the reach of the query.
func (q *cachedQuery) Reach() (Reach, bool) {
	return Reach{q.grid.first - q.shape.oldest, q.grid.last - q.shape.newest, q.shape, q.engine.o.MetricName}, true
}

// Watch begins a reading of the points. It returns nil if the store does not know what changes.
func (r Reach) Watch(s Store) *Watch {
	reading, ok := s.Read(r.from, r.to)
	if !ok {
		return nil
	}
	return &Watch{r, reading}
}

// A Watch tells whether points of a reach have changed since it began.
type Watch struct {
	reach   Reach
	reading *store.Reading
}

// Unchanged reports whether no points have changed. It may report false though none have.
func (w *Watch) Unchanged(ctx context.Context) bool {
	return w.reading.Changed(ctx, func(metric string) bool {
		return w.reach.shape.wants(w.reach.names(metric))
	}) == math.MaxInt64
}

// End ends the watch.
func (w *Watch) End() { w.reading.End() }
