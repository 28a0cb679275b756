package query

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// sharedEngine has equal queries that are asked at the same time answered by one evaluation. Each has
// its own timeout, and its own copy of what the API writes into.
type sharedEngine struct {
	next      promql.QueryEngine
	queryable promstorage.Queryable // others are asked without sharing
	o         Options
	flights   *singleflight.Group[sharedKey, *sharedAnswer]
}

func newSharedEngine(next promql.QueryEngine, o Options) *sharedEngine {
	return &sharedEngine{next, o.Queryable, o, singleflight.New[sharedKey, *sharedAnswer](ofOneEvaluation)}
}

// ofOneEvaluation reports whether an error is the end of an evaluation and not of the query.
func ofOneEvaluation(err error) bool {
	var (
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
	)
	return singleflight.OfOneEvaluation(err) || errors.As(err, &canceled) || errors.As(err, &timeout)
}

// A sharedKey is all that the answer to a query depends on.
type sharedKey struct {
	text       string
	start, end int64 // nanoseconds; 0 of a query for now
	step       time.Duration
	lookback   time.Duration
	perStep    bool
	asked      asked
}

// asked is what the parameters of a request say of the evaluation, in addition to its query.
type asked struct {
	stats, nocache, limit, lookbacks string
	now                              bool // an instant without a time
}

type askedKey struct{}

// withAsked notes the parameters of a request.
func withAsked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{stats: r.FormValue("stats"), nocache: r.FormValue("nocache"), limit: r.FormValue("limit")}
		a.lookbacks = strings.Join(r.Form[lookbackParameter], "\x00")
		a.now = strings.HasSuffix(r.URL.Path, "/query") && r.FormValue("time") == ""
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askedKey{}, a)))
	})
}

// NewInstantQuery implements promql.QueryEngine.
func (e *sharedEngine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.query(ctx, q, o, sharedKey{text: text, start: at.UnixNano(), end: at.UnixNano()}, func(ctx context.Context, late bool) (promql.Query, error) {
		if late {
			at = time.Now()
		}
		return e.next.NewInstantQuery(ctx, q, o, text, at)
	})
}

// NewRangeQuery implements promql.QueryEngine.
func (e *sharedEngine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.query(ctx, q, o, sharedKey{text: text, start: start.UnixNano(), end: end.UnixNano(), step: step}, func(ctx context.Context, _ bool) (promql.Query, error) {
		return e.next.NewRangeQuery(ctx, q, o, text, start, end, step)
	})
}

// queryMaker makes a query of the engine below. late means that a query for now is evaluated later
// than it was asked.
type queryMaker func(ctx context.Context, late bool) (promql.Query, error)

// query returns a query that may share its evaluation. It is made without the end of its request: the
// evaluation may go on for others.
func (e *sharedEngine) query(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, k sharedKey, makes queryMaker) (promql.Query, error) {
	a, ok := ctx.Value(askedKey{}).(asked)
	if !ok || q != e.queryable {
		return makes(ctx, false)
	}
	own, err := makes(context.WithoutCancel(ctx), false)
	if err != nil || own == nil {
		return own, err
	}
	k.asked = a
	if a.now {
		k.start, k.end = 0, 0
	}
	if o != nil {
		k.lookback, k.perStep = o.LookbackDelta(), o.EnablePerStepStats()
	}
	return &sharedQuery{Query: own, engine: e, key: k, makes: makes}, nil
}

// sharedQuery is a query that may be answered by the evaluation of another one.
type sharedQuery struct {
	promql.Query // of this request; another one may be evaluated

	engine *sharedEngine
	key    sharedKey
	makes  queryMaker
	flown  bool // the evaluation closes the query
	share  *singleflight.Share[*sharedAnswer]
}

// Exec runs the query, or waits for an equal one that is run.
func (q *sharedQuery) Exec(ctx context.Context) *promql.Result {
	q.flown = true
	share, err := q.engine.flights.Do(ctx, q.key, singleflight.Question[*sharedAnswer]{
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
	if q.key.asked.now || q.engine.o.Changes == nil {
		return nil
	}
	reach, ok := q.reach()
	if !ok {
		return nil
	}
	if w := reach.Watch(q.engine.o.Changes); w != nil {
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
	return resultcache.ReachOf(s, q.engine.o.defaultStep(), q.engine.o.Names.FromMetric)
}

// compute evaluates the query. That of now has the time at which it is evaluated.
func (q *sharedQuery) compute(ctx context.Context, late bool) (*sharedAnswer, error) {
	if late && q.key.asked.now {
		again, err := q.makes(ctx, true)
		if err != nil {
			return &sharedAnswer{query: q.Query, result: &promql.Result{Err: err}}, err
		}
		q.Query.Close()
		q.Query = again
	}
	result := q.Query.Exec(ctx)
	return &sharedAnswer{q.Query, result, settled(result.Warnings, q.key.text)}, result.Err
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

// copy returns the answer to one of the queries. The API adds warnings to it, and cuts it to a limit.
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
