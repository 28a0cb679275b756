package rangeql

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
)

// boundedQuery is a query of the library whose cost is known. It takes its memory before it begins,
// and passes on what each series costs to the readers of the series.
type boundedQuery struct {
	promql.Query
	cost   *limits.Cost
	engine *Engine
}

// Exec runs the query.
func (q boundedQuery) Exec(ctx context.Context) *promql.Result {
	if err := query.AccountOf(ctx).Take(q.cost.Fixed); err != nil {
		return &promql.Result{Err: q.engine.o.NoMemory(ctx, err)}
	}
	if q.cost.Short() {
		ctx = asShort(ctx)
	}
	defer query.From(ctx).Estimated()()
	result := q.Query.Exec(limits.With(ctx, q.cost))
	if cause := context.Cause(ctx); errors.Is(cause, query.ErrTooLarge) {
		return &promql.Result{Err: q.engine.o.NoMemory(ctx, cause)}
	}
	return result
}

// refused is a query that is not evaluated.
type refused struct {
	promql.Query
	err error
}

// Exec returns the reason.
func (q refused) Exec(context.Context) *promql.Result { return &promql.Result{Err: q.err} }

type shortKey struct{}

// asShort marks work that takes almost no time: parsing, and evaluations that read nothing.
func asShort(ctx context.Context) context.Context { return context.WithValue(ctx, shortKey{}, true) }

// IsShort reports whether the work needs no turn among other queries.
func IsShort(ctx context.Context) bool { return ctx.Value(shortKey{}) != nil }
