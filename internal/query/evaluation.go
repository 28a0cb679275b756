package query

import (
	"context"
	"sync/atomic"
	"time"
)

// An Evaluation is work that several queries share. It is not listed: each query that uses it shows
// what it holds and has read. A nil Evaluation is that of queries without a registry.
type Evaluation struct {
	work  *Query // found by From below the evaluation
	ended atomic.Bool
}

// BeginEvaluation begins an evaluation for the query of ctx, and for others that will use it. It has the memory
// of the budget's account of ctx. Its context ends with the evaluation, or if its memory is too much.
func BeginEvaluation(ctx context.Context) (context.Context, *Evaluation) {
	of := From(ctx)
	if of == nil {
		return ctx, nil
	}
	work := &Query{Description: of.Description, registry: of.registry, started: time.Now(), account: AccountOf(ctx)}
	ctx, work.end = context.WithCancelCause(ctx)
	work.tally, work.trace = &Tally{}, &Trace{}
	ctx = with(ctx, func(h *handle) { h.query, h.tally, h.trace = work, work.tally, work.trace })
	work.ctx = ctx
	e := &Evaluation{work: work}
	of.registry.mu.Lock()
	defer of.registry.mu.Unlock()
	of.registry.evaluations[e] = struct{}{}
	return ctx, e
}

// End ends the evaluation. It may be called again. What was read still shows.
func (e *Evaluation) End() {
	if e == nil || e.ended.Swap(true) {
		return
	}
	e.work.end(nil)
	e.work.registry.mu.Lock()
	defer e.work.registry.mu.Unlock()
	delete(e.work.registry.evaluations, e)
}

// Use tells that a query is answered by an evaluation.
func (q *Query) Use(e *Evaluation) {
	if q != nil {
		q.uses.Store(e)
	}
}

// shared returns the work that the query shares with others; nil: none.
func (q *Query) shared() *Query {
	if e := q.uses.Load(); e != nil {
		return e.work
	}
	return nil
}

// plan returns how the query was answered, as far as it is known: an evaluation that goes on tells
// nothing.
func (q *Query) plan() *Node {
	if e := q.uses.Load(); e != nil && e.ended.Load() {
		if n := e.work.trace.Plan("query"); n != nil {
			return n
		}
	}
	return q.trace.Plan("query")
}

// most returns how many bytes the query has held at once, with what it shared.
func (q *Query) most() int64 {
	most := q.account.Most()
	if work := q.shared(); work != nil {
		most += work.account.Most()
	}
	return most
}

// ending returns the work whose memory is only estimated. It needs mu.
func (r *Registry) ending() (all []*Query) {
	for _, q := range r.queries {
		if q.estimated.Load() > 0 {
			all = append(all, q)
		}
	}
	for e := range r.evaluations {
		if e.work.estimated.Load() > 0 {
			all = append(all, e.work)
		}
	}
	return all
}
