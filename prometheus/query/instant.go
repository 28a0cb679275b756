package query

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
)

// Instant evaluates a query at an instant for somebody in this process, with the bounds and the turns of
// a request from outside. A scalar becomes a sample without labels. What the evaluation takes is in
// the account of ctx.
func (a *API) Instant(ctx context.Context, text, client string, at time.Time) (promql.Vector, error) {
	if a.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.o.Timeout)
		defer cancel()
	}
	if err := limits.Text(text); err != nil {
		return nil, err
	}
	if err := query.AccountOf(ctx).Take(int64(len(text)) * textCost); err != nil {
		return nil, httpapi.QueryError(ctx, "parse", err)
	}
	ctx, running := a.o.Running.Begin(a.gate.admit(ctx), query.Description{Language: "promql", Text: text, Client: client})
	defer running.End()
	query, err := a.engine.NewInstantQuery(ctx, a.o.Queryable, promql.NewPrometheusQueryOpts(false, 0), text, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	switch v := result.Value.(type) {
	case promql.Vector:
		return v, nil
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, nil
	}
	return nil, errors.New("rule result is not a vector or scalar") // Prometheus' words
}

// Library returns an engine of the Prometheus module, for stores that are not the adapter's. It waits
// for no turn.
func (a *API) Library() *promql.Engine { return a.engine.Library() }
