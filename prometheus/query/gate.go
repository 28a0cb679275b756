package query

import (
	"context"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
)

// queryGate lets a few queries compute at once; others wait. Queries that read nothing pass freely.
// It is the engine's ActiveQueryTracker over turns. Unlike Prometheus' own tracker, it keeps no
// file of the queries.
//
// A listen.Gate would not do: it bounds memory and refuses at once, so that senders try again,
// while a query waits for its turn. apiTurns would not do either: the engine waits in the middle of
// a request, after the query has been parsed and turned out to read something.
type queryGate struct {
	turns *query.Turns
	most  int

	mu   sync.Mutex // guards all below
	held map[int]*query.Turn
	next int
}

func newQueryGate(n int) *queryGate {
	n = max(1, n)
	return &queryGate{turns: query.NewTurns(n), most: n, held: map[int]*query.Turn{}}
}

// admit gives the queries of a request a turn, which begins with Insert.
func (g *queryGate) admit(ctx context.Context) context.Context {
	return query.WithTurn(ctx, g.turns.Later())
}

// GetMaxConcurrent returns the bound.
func (g *queryGate) GetMaxConcurrent() int { return g.most }

// Insert waits for the turn of a query.
func (g *queryGate) Insert(ctx context.Context, _ string) (int, error) {
	if rangeql.IsShort(ctx) {
		return withoutTurn, nil
	}
	turn := query.TurnOf(ctx)
	if err := turn.Resume(ctx); err != nil {
		return 0, httpapi.QueryError(ctx, "wait for other queries", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	g.held[g.next] = turn
	return g.next, nil
}

// withoutTurn is the index of a query that needs none.
const withoutTurn = -1

// Delete gives a turn back.
func (g *queryGate) Delete(index int) {
	g.mu.Lock()
	turn := g.held[index]
	delete(g.held, index)
	g.mu.Unlock()
	turn.End()
}

// Close has nothing to close.
func (*queryGate) Close() error { return nil }
