package resultcache

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/prometheus/rangeql"
)

// query is a range query whose answer is kept. It embeds the query of the whole range.
type query struct {
	promql.Query
	engine *Engine
	shape  shape
	key    key
	grid   grid
	// between returns the query of some of the steps.
	between func(ctx context.Context, from, to int64) (promql.Query, error)

	rest promql.Query // of the steps that were not kept, if some were
}

// Exec runs the query.
func (q *query) Exec(ctx context.Context) *promql.Result {
	reading, ok := q.engine.o.Store.Read(q.grid.first-q.shape.oldest, q.grid.last-q.shape.newest)
	if !ok {
		return q.Query.Exec(ctx)
	}
	a, result := q.answer(ctx)
	if a == nil || !q.engine.entries.Put(q.key, entry{a, reading}, a.bytes()+int64(len(q.key.text))) {
		reading.End()
	}
	return result
}

// answer returns the result, and what to keep of it; nil: nothing, or what is kept already.
func (q *query) answer(ctx context.Context) (*Answer, *promql.Result) {
	if known, ok := q.engine.entries.Get(q.key); ok && known.grid.first <= q.grid.first {
		if from := q.firstNew(ctx, known); from > q.grid.first {
			if a, result := q.extend(ctx, known.Answer, from); result != nil {
				return a, result
			}
		}
	}
	q.engine.metrics.count("new")
	result, n, ok := q.exec(ctx, q.Query)
	if !ok {
		return nil, result
	}
	a := newAnswer(q.grid, result, n, q.engine.o.Format, q.engine.o.MaxBytes/largest)
	if a == nil || budget.From(ctx).Take(copies*a.bytes()) != nil {
		return nil, result
	}
	return a, &promql.Result{Value: a, Warnings: result.Warnings}
}

// exec runs a query. It returns false if there are no notes of its annotations.
func (q *query) exec(ctx context.Context, some promql.Query) (*promql.Result, notes, bool) {
	var repairs rangeql.Repairs
	result := some.Exec(rangeql.WithRepairs(ctx, &repairs))
	n, ok := newNotes(result, &repairs, q.key.text)
	return result, n, ok
}

// firstNew returns the first step that must be evaluated: one after those that are kept, the first
// that changed points reach, or, of an answer with annotations that have to be confirmed, the last
// one.
func (q *query) firstNew(ctx context.Context, known entry) int64 {
	next := known.grid.last + q.grid.step
	if len(known.notes.texts) > 0 {
		next = min(next, q.grid.last)
	}
	changed := known.reading.Changed(ctx, func(metric string) bool {
		return q.shape.wants(q.engine.o.MetricName(metric))
	})
	if changed == math.MaxInt64 {
		return next
	}
	return min(next, q.grid.atLeast(changed+q.shape.newest))
}

// extend evaluates the steps from a step on, and takes those before it from what is known. It
// returns no result if the two do not tell what the whole would.
func (q *query) extend(ctx context.Context, known *Answer, from int64) (*Answer, *promql.Result) {
	if from > q.grid.last {
		q.engine.metrics.count("kept")
		part := known.between(q.grid)
		return nil, q.result(ctx, part, part.notes.annotations(nil))
	}
	rest, err := q.between(ctx, from, q.grid.last)
	if err != nil {
		return nil, &promql.Result{Err: err}
	}
	q.rest = rest
	result, n, ok := q.exec(ctx, rest)
	if result.Err != nil {
		return nil, result
	}
	if !ok {
		return nil, nil
	}
	end := newAnswer(grid{from, q.grid.last, q.grid.step}, result, n, q.engine.o.Format, q.engine.o.MaxBytes/largest)
	if end == nil {
		return nil, nil
	}
	begin := known.between(grid{q.grid.first, from - q.grid.step, q.grid.step})
	all, ok := begin.notes.join(end.notes)
	if !ok {
		return nil, nil
	}
	q.engine.metrics.count("extended")
	whole := begin.join(end, all)
	return whole, q.result(ctx, whole, all.annotations(result.Warnings))
}

// copies is how often an answer is in memory while it is sent: by itself and in the response.
const copies = 2

// result returns an answer to the engine's caller.
func (q *query) result(ctx context.Context, a *Answer, warnings annotations.Annotations) *promql.Result {
	if err := budget.From(ctx).Take(copies * a.bytes()); err != nil {
		return &promql.Result{Err: q.engine.o.NoMemory(ctx, err)}
	}
	return &promql.Result{Value: a, Warnings: warnings}
}

// Stats returns the statistics of what was evaluated.
func (q *query) Stats() *stats.Statistics {
	if q.rest != nil {
		return q.rest.Stats()
	}
	return q.Query.Stats()
}

// Cancel ends the evaluation.
func (q *query) Cancel() {
	q.Query.Cancel()
	if q.rest != nil {
		q.rest.Cancel()
	}
}

// Close takes back the memory of the answer.
func (q *query) Close() {
	q.Query.Close()
	if q.rest != nil {
		q.rest.Close()
	}
}
