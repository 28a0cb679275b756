// Package evaluation computes what requests of OpenTSDB's HTTP API ask: each in its turn, as a query that
// is listed, counted and can be ended by its id. It knows which status an error has, and no endpoint.
package evaluation

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Language names these queries among the running ones.
const Language = "opentsdb"

// MostShown is how much of a query a list of queries shows, in bytes.
const MostShown = 4 << 10

// An Evaluator computes what requests ask. It is safe for concurrent use.
type Evaluator struct {
	turns    *query.Turns
	running  *query.Registry
	counters counters
	history  history
}

// New returns an Evaluator of which so many requests compute at once.
func New(concurrency int, registry *query.Registry) *Evaluator {
	return &Evaluator{turns: query.NewTurns(concurrency), running: registry}
}

// Turn waits for a turn to compute, which is to be ended.
func (e *Evaluator) Turn(ctx context.Context) (*query.Turn, error) { return e.turns.Begin(ctx) }

// Running returns the queries under way.
func (e *Evaluator) Running() (list []query.State) {
	for _, q := range e.running.List() {
		if q.Language == Language {
			list = append(list, q)
		}
	}
	return list
}

// Compute is List, and all that a request computes shares the steps of regular expressions.
func (e *Evaluator) Compute(ctx context.Context, client, text string, compute func(context.Context) error) error {
	return e.List(ctx, client, text, func(ctx context.Context) error { return compute(tsdquery.WithSteps(ctx)) })
}

// List runs what a request of a client computes: in its turn, as a query that is listed, counted, and
// can be ended by its id. text describes it.
func (e *Evaluator) List(ctx context.Context, client, text string, compute func(context.Context) error) error {
	if len(text) > MostShown {
		text = text[:MostShown]
	}
	text = strings.ToValidUTF8(text, "?")
	begin := time.Now()
	ctx, q := e.running.Begin(ctx, query.Description{Language: Language, Text: text, Client: client})
	defer q.End()
	err := e.inTurn(ctx, compute)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), query.ErrEnded) {
		err = query.ErrEnded
	}
	e.counters.query(err)
	e.history.add(Finished{Text: text, Client: client, Begin: begin, End: time.Now(), Samples: q.Samples(), Err: err})
	return err
}

func (e *Evaluator) inTurn(ctx context.Context, compute func(context.Context) error) error {
	turn, err := e.turns.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	ctx, evaluating := tracing.Start(query.WithTurn(ctx, turn), "evaluate")
	err = compute(ctx)
	evaluating.End(err)
	return err
}
