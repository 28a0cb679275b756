package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Explain evaluates the targets of a request, whose parameters are those of /render, within the limits of /render, and
// returns how that was done. After an error it returns the status of an answer and a text.
func (a *API) Explain(w http.ResponseWriter, r *http.Request) (x *query.Explanation, status int, text string) {
	begin := a.o.Now()
	route := route{endpoint: "explain", methods: []string{http.MethodGet, http.MethodHead, http.MethodPost}, answer: func(r *exchange.Request) (_ *exchange.Reply, err error) {
		x, err = a.renderer.explained(r)
		return nil, err
	}}
	status = http.StatusOK
	if _, err := a.answer(route, w, r); err != nil {
		x, status, text = nil, exchange.StatusOf(err), exchange.TextOf(err)
	}
	a.metrics.done(route.endpoint, status, a.o.Now().Sub(begin))
	return x, status, text
}

// explained evaluates targets.
func (a *renderer) explained(r *exchange.Request) (*query.Explanation, error) {
	d, err := a.renderRequest(r.Params)
	if err != nil {
		return nil, err
	}
	if len(d.targets) == 0 {
		return nil, exchange.InvalidParams("No target: an explanation needs one")
	}
	x := &query.Explanation{
		Language: "graphite", Query: python.Excerpt(strings.Join(d.targets, "\n"), mostShown),
		Start: time.Unix(d.request.From, 0).UTC(), End: time.Unix(d.request.Until, 0).UTC(),
	}
	_, err = a.listed(r, d.targets, func(ctx context.Context) (*exchange.Reply, error) {
		begin := time.Now()
		list, err := a.evaluated(ctx, d)
		if err != nil {
			return nil, err
		}
		x.Seconds, x.Memory = time.Since(begin).Seconds(), query.AccountOf(ctx).Most()
		x.Series, x.Step = len(list), stepOf(list)
		for _, s := range list {
			x.Samples += len(s.Values)
		}
		x.Count(query.TallyOf(ctx))
		trace := query.TraceOf(ctx)
		x.Plan, x.Reads = trace.Plan("targets"), trace.Reads()
		return nil, nil
	})
	return x, err
}

// stepOf returns the step of all series in seconds, 0 if they differ.
func stepOf(list []*series.Series) float64 {
	if len(list) == 0 {
		return 0
	}
	for _, s := range list {
		if s.Step != list[0].Step {
			return 0
		}
	}
	return float64(list[0].Step)
}
