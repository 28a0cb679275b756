package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// language names these queries among the running ones.
const language = "opentsdb"

// mostShown is how much of a query a list of queries shows, in bytes.
const mostShown = 4 << 10

// computed is listed, and all that a request computes shares the steps of regular expressions.
func (a *API) computed(r *request, text string, compute func(context.Context) error) error {
	return a.listed(r, text, func(ctx context.Context) error { return compute(tsdquery.WithSteps(ctx)) })
}

// listed runs what a request computes: in its turn, as a query that is listed, counted, and can be
// ended by its id. text describes it.
func (a *API) listed(r *request, text string, compute func(context.Context) error) error {
	if len(text) > mostShown {
		text = text[:mostShown]
	}
	text = strings.ToValidUTF8(text, "?")
	begin := time.Now()
	ctx, q := a.o.Running.Begin(r.Context(), query.Description{Language: language, Text: text, Client: r.RemoteAddr})
	defer q.End()
	err := a.inTurn(ctx, compute)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), query.ErrEnded) {
		err = query.ErrEnded
	}
	a.count.query(err)
	a.history.add(finished{text: text, client: r.RemoteAddr, begin: begin, end: time.Now(), samples: q.Samples(), err: err})
	return err
}

func (a *API) inTurn(ctx context.Context, compute func(context.Context) error) error {
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	ctx, evaluating := tracing.Start(query.WithTurn(ctx, turn), "evaluate")
	err = compute(ctx)
	evaluating.End(err)
	return err
}
