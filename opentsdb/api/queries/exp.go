package queries

import (
	"context"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/expression"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// exp answers /api/query/exp. As with a TSD the method does not matter.
func (a *API) exp(w http.ResponseWriter, r *httpapi.Request) error {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return err
	}
	_, parsing := tracing.Start(r.Context(), "parse")
	_, _, err = a.parseExp(body)
	parsing.End(err)
	if err != nil {
		return err
	}
	return a.answered(w, r, question{text: string(body), key: "exp " + string(body), bare: true, compute: func(ctx context.Context) (io.WriterTo, error) {
		return a.expNow(ctx, body)
	}})
}

// expNow computes expressions, with the times that they mean now.
func (a *API) expNow(ctx context.Context, body []byte) (io.WriterTo, error) {
	parsed, queries, err := a.parseExp(body)
	if err != nil {
		return nil, err
	}
	series, err := a.o.Engine.Series(ctx, queries)
	if err != nil {
		return nil, err
	}
	from, to := queries.Times()
	return parsed.Compute(series, from, to, means(ctx))
}

// parseExp reads expressions, and the queries of their metrics.
func (a *API) parseExp(body []byte) (*expression.Request, *tsdquery.Request, error) {
	parsed, err := expression.Parse(body)
	if err != nil {
		return nil, nil, err
	}
	queries, err := parsed.Check(a.o.Now(), a.o.TimeZone)
	return parsed, queries, err
}

// means are what the computation of a request may use: its turn and its memory.
func means(ctx context.Context) expression.Means {
	turn, account := query.TurnOf(ctx), query.AccountOf(ctx)
	return expression.Means{Pause: func() error { return turn.Yield(ctx) }, Take: account.Take}
}
