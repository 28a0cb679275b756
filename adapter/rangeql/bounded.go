package rangeql

import (
	"context"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/adapter/bounds"
	"github.com/tsdbridge/tsdbridge/budget"
)

// boundedQuery is a query of the library whose cost is known. It takes its memory before it begins, and tells those who read for it what
// the series that they find will cost.
type boundedQuery struct {
	promql.Query
	cost     *bounds.Cost
	noMemory func(context.Context, error) error
}

// Exec runs the query.
func (q boundedQuery) Exec(ctx context.Context) *promql.Result {
	if err := budget.From(ctx).Take(q.cost.Fixed); err != nil {
		return &promql.Result{Err: q.noMemory(ctx, err)}
	}
	return q.Query.Exec(bounds.With(ctx, q.cost))
}

// refused is a query that is not evaluated.
type refused struct {
	promql.Query
	err error
}

// Exec says why.
func (q refused) Exec(context.Context) *promql.Result { return &promql.Result{Err: q.err} }
