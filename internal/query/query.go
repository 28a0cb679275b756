// Package query is one query or request that is being answered, in every query language. It has memory
// (an Account of the Budget of all queries), a Turn to compute, a Tally of what it reads, a Trace of how
// it is answered, and a place in the Registry, which lists the queries and ends them by their id. The
// package evaluates nothing, knows no query language and no store, and never decides by itself that a
// query ends.
//
// Code that answers a query registers it and passes the context on:
//
//	ctx, q := registry.Begin(ctx, query.Description{Language: "graphite", Text: target})
//	defer q.End()
//
// Code below finds all parts of the query in its context: From, AccountOf, TurnOf, TallyOf and
// TraceOf. What a context lacks is nil, and nil has no limit, never waits and counts nothing.
//
// Memory: a query takes memory from the budget before it allocates it, and returns all of it when it
// ends. It never waits for memory: a waiting query would hold what it has already taken.
//
// Turns: of the waiting requests the one that has computed least, or is expected to, goes first, so a
// short request is answered soon, however many long ones there are. A long request gives its turn
// away for a while when it calls Yield. Requests of middle size, and large ones, are begun one after
// the other: as many of each as there are cores, and others when those have ended. Their order is
// that of their cost and of their clients, and a large one that would begin too late is refused at
// once.
//
// Tallies: what is added to the tally of a part of a query is added to that of the whole too. Code
// that reads adds to it once for many rows.
//
// Traces: every evaluation records its tree, with a few numbers for each node and nothing for each
// sample, so what is shown is what the query did.
package query

import (
	"context"
	"time"
)

// A handle holds the parts of a query. Contexts share it until one of them gets another part, as each
// worker of a query has a turn of its own: that one has a copy.
type handle struct {
	query    *Query
	account  *Account
	turn     *Turn
	tally    *Tally
	trace    *Trace
	client   string    // host
	deadline time.Time // of work that does not end with its request; zero: that of the context
}

type handleKey struct{}

var noHandle handle

// handleOf returns the parts of the query of ctx. They must not be changed.
func handleOf(ctx context.Context) *handle {
	if h, ok := ctx.Value(handleKey{}).(*handle); ok {
		return h
	}
	return &noHandle
}

// with returns a context with a changed copy of the parts of ctx.
func with(ctx context.Context, change func(*handle)) context.Context {
	h := *handleOf(ctx)
	change(&h)
	return context.WithValue(ctx, handleKey{}, &h)
}

// From returns the query that ctx belongs to, nil if it has none.
func From(ctx context.Context) *Query { return handleOf(ctx).query }

// AccountOf returns the account of the query that ctx belongs to, nil (no limit) if it has none.
func AccountOf(ctx context.Context) *Account { return handleOf(ctx).account }

// WithAccount returns a context with the account.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return with(ctx, func(h *handle) { h.account = a })
}

// TurnOf returns the turn of the request that ctx belongs to, nil if it has none.
func TurnOf(ctx context.Context) *Turn { return handleOf(ctx).turn }

// WithTurn returns a context with the turn.
func WithTurn(ctx context.Context, t *Turn) context.Context {
	return with(ctx, func(h *handle) { h.turn = t })
}

// TallyOf returns the tally of ctx, nil if it has none.
func TallyOf(ctx context.Context) *Tally { return handleOf(ctx).tally }

// TraceOf returns the trace of ctx, nil if it has none.
func TraceOf(ctx context.Context) *Trace { return handleOf(ctx).trace }
