package resultcache

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
)

// cachedQuery is a range query whose answer is kept.
type cachedQuery struct {
	engine *Engine
	shape  shape
	key    key
	grid   grid
	// make makes the query of some of the steps.
	make func(ctx context.Context, g grid) (promql.Query, error)
	// run is what is evaluated: the query of the whole range or of some steps; nil: nothing.
	run promql.Query
	// whole means that run is the query of the whole range, and was not executed.
	whole bool
}

// Exec runs the query.
func (q *cachedQuery) Exec(ctx context.Context) *promql.Result {
	reading, ok := q.engine.o.Store.Read(q.grid.first-q.shape.oldest, q.grid.last-q.shape.newest)
	if !ok {
		result, _, _ := q.evaluate(ctx, q.grid)
		return result
	}
	a, result := q.answer(ctx)
	if a == nil || !q.engine.entries.Put(q.key, entry{a, q.shape, reading}, a.Bytes()+int64(len(q.key.text))) {
		reading.End()
	}
	return result
}

// answer returns the result, and what to keep of it; nil: nothing, or what is kept already.
func (q *cachedQuery) answer(ctx context.Context) (*Answer, *promql.Result) {
	if known, ok := q.engine.entries.Get(q.key); ok && known.grid.first <= q.grid.first {
		if from := q.firstNew(ctx, known); from > q.grid.first {
			if a, result := q.extend(ctx, known.Answer, from); result != nil {
				return a, result
			}
		}
	}
	q.engine.metrics.count("new")
	result, n, ok := q.evaluate(ctx, q.grid)
	if !ok {
		return nil, result
	}
	a := newAnswer(q.grid, result, n, nil, q.engine.o.Format, q.engine.o.MaxBytes/largest)
	if a == nil || query.AccountOf(ctx).Take(a.Bytes()) != nil {
		return nil, result
	}
	return a, &promql.Result{Value: a, Warnings: result.Warnings}
}

// evaluate runs the query of some steps. It returns false if there are no notes of its annotations.
func (q *cachedQuery) evaluate(ctx context.Context, g grid) (*promql.Result, notes, bool) {
	if err := q.prepare(ctx, g); err != nil {
		return &promql.Result{Err: err}, notes{}, false
	}
	var repairs annotation.Repairs
	result := q.run.Exec(annotation.WithRepairs(ctx, &repairs))
	n, ok := newNotes(result, &repairs, q.key.text)
	return result, n, ok
}

// prepare makes the query of some steps.
func (q *cachedQuery) prepare(ctx context.Context, g grid) error {
	if q.whole && g == q.grid {
		q.whole = false
		return nil
	}
	q.Close()
	q.whole = false
	run, err := q.make(ctx, g)
	if err != nil {
		q.run = nil
		return err
	}
	q.run = run
	return nil
}

// firstNew returns the first step that must be evaluated: one after those that are kept, the first
// that changed points reach, or, of an answer with annotations that have to be confirmed, the last
// one.
func (q *cachedQuery) firstNew(ctx context.Context, known entry) int64 {
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
func (q *cachedQuery) extend(ctx context.Context, known *Answer, from int64) (*Answer, *promql.Result) {
	if from > q.grid.last {
		q.engine.metrics.count("kept")
		part := known.between(q.grid)
		return nil, q.result(ctx, part, part.notes.annotations(nil, q.grid))
	}
	rest := grid{from, q.grid.last, q.grid.step}
	result, n, ok := q.evaluate(ctx, rest)
	if result.Err != nil {
		return nil, result
	}
	if !ok {
		return nil, nil
	}
	end := newAnswer(rest, result, n, known, q.engine.o.Format, q.engine.o.MaxBytes/largest)
	if end == nil {
		return nil, nil
	}
	begin := known.between(grid{q.grid.first, from - q.grid.step, q.grid.step})
	all, ok := begin.notes.join(end.notes)
	if !ok {
		return nil, nil
	}
	q.engine.metrics.count("extended")
	whole := begin.join(end, all, q.engine.o.Format)
	return whole, q.result(ctx, whole, all.annotations(result.Warnings, q.grid))
}

// result returns an answer to the engine's caller. The answer stays in memory while it is sent, also
// if it is not kept any more.
func (q *cachedQuery) result(ctx context.Context, a *Answer, warnings annotations.Annotations) *promql.Result {
	if err := query.AccountOf(ctx).Take(a.Bytes()); err != nil {
		return &promql.Result{Err: q.engine.o.NoMemory(ctx, err)}
	}
	return &promql.Result{Value: a, Warnings: warnings}
}

// Statement returns the statement of what was evaluated, nil if nothing was.
func (q *cachedQuery) Statement() parser.Statement {
	if q.run == nil {
		return nil
	}
	return q.run.Statement()
}

// Stats returns the statistics of what was evaluated.
func (q *cachedQuery) Stats() *stats.Statistics {
	if q.run == nil {
		return &stats.Statistics{Timers: stats.NewQueryTimers(), Samples: stats.NewQuerySamples(false)}
	}
	return q.run.Stats()
}

// String returns the text of the query.
func (q *cachedQuery) String() string { return q.key.text }

// Cancel ends the evaluation.
func (q *cachedQuery) Cancel() {
	if q.run != nil {
		q.run.Cancel()
	}
}

// Close takes back the memory of the answer.
func (q *cachedQuery) Close() {
	if q.run != nil {
		q.run.Close()
	}
}
