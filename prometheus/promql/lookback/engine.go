package lookback

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Shown finds series, and shows each only as long as its lookback lasts.
type Shown interface {
	promstorage.Queryable
	EachRef(ctx context.Context, mint, maxt int64, matchers []*labels.Matcher, visit func(labels.Labels, storage.Ref)) error
	// Ending returns the same series: after a sample that is followed by none within the lookback of its series stands a
	// stale marker, if that is shorter than most.
	Ending(most time.Duration, of func(storage.Ref) time.Duration) promstorage.Queryable
}

// Steps tells the steps of series.
type Steps interface {
	// Steps returns the steps of series in seconds, from their documents or from their points in a
	// time (milliseconds). Unknown ones may be missing.
	Steps(ctx context.Context, names map[storage.Ref]string, start, end int64) (map[storage.Ref]int64, error)
}

// Engine is a promql.QueryEngine over another one.
type Engine struct {
	Next  promql.QueryEngine
	Rules Rules         // without rules of the request
	Base  time.Duration // Next's lookback
	Steps Steps         // nil: no step is known

	Parser parser.Parser
}

var _ promql.QueryEngine = (*Engine)(nil)

// NewInstantQuery implements promql.QueryEngine.
func (e *Engine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.query(ctx, q, o, asked{text, at, at, 0}, func(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts) (promql.Query, error) {
		return e.Next.NewInstantQuery(ctx, q, o, text, at)
	})
}

// NewRangeQuery implements promql.QueryEngine.
func (e *Engine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.query(ctx, q, o, asked{text, start, end, step}, func(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts) (promql.Query, error) {
		return e.Next.NewRangeQuery(ctx, q, o, text, start, end, step)
	})
}

// asked is what a query asks for.
type asked struct {
	text       string
	start, end time.Time
	step       time.Duration
}

// maker makes a query of the engine below.
type maker func(context.Context, promstorage.Queryable, promql.QueryOpts) (promql.Query, error)

// query returns the query of the engine below, or one that first finds out the lookbacks of its
// series. A request that names Prometheus' own lookback, and no rule, gets that.
func (e *Engine) query(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, a asked, makes maker) (promql.Query, error) {
	rules, own := ctx.Value(rulesKey{}).(Rules)
	base := e.Base
	if o != nil && o.LookbackDelta() > 0 {
		base = o.LookbackDelta()
	}
	if !own && base == e.Base {
		rules = e.Rules
	}
	shown, ok := q.(Shown)
	plain, err := makes(ctx, q, o)
	if err != nil || len(rules) == 0 || !ok {
		return plain, err
	}
	perStep := o != nil && o.EnablePerStepStats()
	return &query{Query: plain, prepare: func(run context.Context) (promql.Query, error) {
		found, err := e.find(run, shown, rules, base, a)
		if err != nil || !found.any {
			return plain, err
		}
		if found.extended { // with one lookback for all: it decides how far their ranges reach
			return told{plain}, nil
		}
		ending := shown.Ending(found.most, func(ref storage.Ref) time.Duration {
			if l, ok := found.of[ref]; ok {
				return l
			}
			return base
		})
		return makes(resultcache.Without(ctx), ending, promql.NewPrometheusQueryOpts(perStep, found.most))
	}}, nil
}

// errExtended is an info: the rules would change the ranges of the query.
var errExtended = fmt.Errorf("%w: rules of lookback do not count in queries with anchored or smoothed", annotations.PromQLInfo)

// told is a query whose answer tells that rules did not count.
type told struct{ promql.Query }

// Exec runs the query.
func (t told) Exec(ctx context.Context) *promql.Result {
	r := t.Query.Exec(ctx)
	if r.Err == nil {
		r.Warnings.Add(errExtended)
	}
	return r
}

// Unwrap returns the query that is run.
func (t told) Unwrap() promql.Query { return t.Query }

// query chooses the query that is run when it is run.
type query struct {
	promql.Query // that is run, at first the one without lookbacks of its own

	prepare func(context.Context) (promql.Query, error)
	former  promql.Query // was replaced
}

// Exec runs the query.
func (q *query) Exec(ctx context.Context) *promql.Result {
	chosen, err := q.prepare(ctx)
	if err != nil {
		return &promql.Result{Err: err}
	}
	if chosen != q.Query {
		q.former, q.Query = q.Query, chosen
	}
	return q.Query.Exec(ctx)
}

// Unwrap returns the query that is run.
func (q *query) Unwrap() promql.Query { return q.Query }

// Close takes back the memory of the answer.
func (q *query) Close() {
	q.Query.Close()
	if q.former != nil {
		q.former.Close()
	}
}
