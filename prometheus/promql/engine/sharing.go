package engine

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// A Request is a query of a client.
type Request struct {
	Text string
	// Start and End are those of a range; of an instant both are its time.
	Start, End time.Time
	Step       time.Duration // 0: an instant
	// Now means that the client named no time: an evaluation that begins later has its own time.
	Now bool
	// Lookback is the lookback of this query; 0: the engine's.
	Lookback time.Duration
	// Stats asks for statistics, PerStep also for those of each step. The library counts them.
	Stats, PerStep bool
	// Whole asks for an evaluation that uses no answer that was kept.
	Whole bool
	// Rules are the query's own rules of lookbacks, if Lookbacks, their texts, are not empty.
	Rules     lookback.Rules
	Lookbacks []string
}

// opts are the options of the module.
func (r *Request) opts() promql.QueryOpts {
	return promql.NewPrometheusQueryOpts(r.PerStep, r.Lookback)
}

// context returns a context with what the stages need to know of the request.
func (r *Request) context(ctx context.Context) context.Context {
	if r.Stats {
		ctx = rangeql.WithStats(ctx)
	}
	if r.Stats || r.Whole {
		ctx = resultcache.Without(ctx)
	}
	if len(r.Lookbacks) > 0 {
		ctx = lookback.With(ctx, r.Rules)
	}
	return ctx
}

// Query returns the query of a request. Its value may be a *resultcache.Answer.
func (e *Engine) Query(ctx context.Context, r Request) (promql.Query, error) {
	return e.sharing.query(ctx, r)
}

// makeQuery makes the query of a request without sharing.
func (e *Engine) makeQuery(ctx context.Context, r *Request) (promql.Query, error) {
	ctx = r.context(ctx)
	if r.Step == 0 {
		return e.kept.NewInstantQuery(ctx, e.o.Queryable, r.opts(), r.Text, r.Start)
	}
	return e.kept.NewRangeQuery(ctx, e.o.Queryable, r.opts(), r.Text, r.Start, r.End, r.Step)
}

// sharing has equal queries that are asked at the same time answered by one evaluation. Each has its
// own timeout, and its own copy of what a handler writes into.
type sharing struct {
	engine  *Engine
	flights *singleflight.Group[sharedKey, *sharedAnswer]
}

func newSharing(e *Engine) *sharing {
	return &sharing{e, singleflight.New[sharedKey, *sharedAnswer](OfOneEvaluation)}
}

// OfOneEvaluation reports whether an error is the end of an evaluation and not of the query.
func OfOneEvaluation(err error) bool {
	var (
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
	)
	return singleflight.OfOneEvaluation(err) || errors.As(err, &canceled) || errors.As(err, &timeout)
}

// A sharedKey is all that the answer to a query depends on.
type sharedKey struct {
	text, lookbacks            string
	start, end                 int64 // nanoseconds; 0 of a query for now
	step, lookback             time.Duration
	now, stats, perStep, whole bool
}

func keyOf(r *Request) sharedKey {
	k := sharedKey{
		text: r.Text, lookbacks: strings.Join(r.Lookbacks, "\x00"), start: r.Start.UnixNano(), end: r.End.UnixNano(),
		step: r.Step, lookback: r.Lookback, now: r.Now, stats: r.Stats, perStep: r.PerStep, whole: r.Whole,
	}
	if r.Now {
		k.start, k.end = 0, 0
	}
	return k
}

// query returns a query that may share its evaluation. It is made without the end of its request: the
// evaluation may go on for others.
func (s *sharing) query(ctx context.Context, r Request) (promql.Query, error) {
	own, err := s.engine.makeQuery(context.WithoutCancel(ctx), &r)
	if err != nil || own == nil {
		return own, err
	}
	return &sharedQuery{Query: own, sharing: s, request: r}, nil
}

// sharedQuery is a query that may be answered by the evaluation of another one.
type sharedQuery struct {
	promql.Query // of this request; another one may be evaluated

	sharing *sharing
	request Request
	flown   bool // the evaluation closes the query
	share   *singleflight.Share[*sharedAnswer]
}

// Exec runs the query, or waits for an equal one that is run.
func (q *sharedQuery) Exec(ctx context.Context) *promql.Result {
	q.flown = true
	share, err := q.sharing.flights.Do(ctx, keyOf(&q.request), singleflight.Question[*sharedAnswer]{
		Watch: q.watch, Compute: q.compute, End: func() { q.Query.Close() },
	})
	if share == nil {
		return &promql.Result{Err: httpapi.QueryError(ctx, "expression evaluation", err)}
	}
	q.share = share
	return share.Answer.copy()
}

// watch watches what the query reads. An equal query for now must not get the answer of a moment ago.
func (q *sharedQuery) watch() singleflight.Watch {
	if q.request.Now || q.sharing.engine.o.Changes == nil {
		return nil
	}
	reach, ok := q.reach()
	if !ok {
		return nil
	}
	if w := reach.Watch(q.sharing.engine.o.Changes); w != nil {
		return w
	}
	return nil
}

// reach returns what the query reads; ok is false if that is not known.
func (q *sharedQuery) reach() (r resultcache.Reach, ok bool) {
	switch own := q.Query.(type) {
	case interface {
		Reach() (resultcache.Reach, bool)
	}:
		return own.Reach()
	case interface{ Unwrap() promql.Query }: // documents tell the lookbacks of series
		return r, false
	}
	s, ok := q.Statement().(*parser.EvalStmt)
	if !ok || s.Expr == nil {
		return r, false
	}
	return resultcache.ReachOf(s, q.sharing.engine.o.defaultStep(), q.sharing.engine.o.MetricName)
}

// compute evaluates the query. That of now has the time at which it is evaluated.
func (q *sharedQuery) compute(ctx context.Context, late bool) (*sharedAnswer, error) {
	if late && q.request.Now {
		q.request.Start = time.Now()
		q.request.End = q.request.Start
		again, err := q.sharing.engine.makeQuery(ctx, &q.request)
		if err != nil {
			return &sharedAnswer{query: q.Query, result: &promql.Result{Err: err}}, err
		}
		q.Query.Close()
		q.Query = again
	}
	result := q.Query.Exec(ctx)
	return &sharedAnswer{q.Query, result, settled(result.Warnings, q.request.Text)}, result.Err
}

// Stats returns the statistics of the evaluation that gave the answer.
func (q *sharedQuery) Stats() *stats.Statistics {
	if q.share != nil {
		return q.share.Answer.query.Stats()
	}
	return q.Query.Stats()
}

// Close gives up the answer.
func (q *sharedQuery) Close() {
	switch {
	case q.share != nil:
		q.share.Release()
	case !q.flown:
		q.Query.Close()
	}
}

// Cancel does nothing: a query ends with the context that it is run with.
func (*sharedQuery) Cancel() {}

// A sharedAnswer is the answer to several queries. It does not change.
type sharedAnswer struct {
	query    promql.Query
	result   *promql.Result
	warnings annotations.Annotations
}

// copy returns the answer to one of the queries. A handler adds warnings to it, and cuts it to a limit.
func (a *sharedAnswer) copy() *promql.Result {
	return &promql.Result{Err: a.result.Err, Value: a.result.Value, Warnings: maps.Clone(a.warnings)}
}

// settled returns annotations with the text that they have in a query. Those of the library are given
// the query when they are shown, and several requests must not do that at once.
func settled(all annotations.Annotations, text string) annotations.Annotations {
	if len(all) == 0 {
		return all
	}
	out := make(annotations.Annotations, len(all))
	for raw, err := range all {
		if a, ok := errors.AsType[interface {
			error
			SetQuery(text string)
		}](err); ok {
			a.SetQuery(text)
		}
		out[raw] = note{err.Error(), err}
	}
	return out
}

// A note is an annotation with its final text.
type note struct {
	text string
	of   error
}

func (n note) Error() string { return n.text }

// Is implements errors.Is.
func (n note) Is(target error) bool { return errors.Is(n.of, target) }
