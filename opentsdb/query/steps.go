package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// mostSteps is how many steps the regular expressions of one query may take that need to go back,
// about a second of a core: over all filters, sub queries and values together.
const mostSteps = 50_000_000

type stepsKey struct{}

// WithSteps returns a context in which all requests share the steps of regular expressions. Without
// one each Answer and each Series has steps of its own. The turn of the context is given away while
// a regular expression is matched for long.
func WithSteps(ctx context.Context) context.Context {
	if ctx.Value(stepsKey{}) != nil {
		return ctx
	}
	turn := query.TurnOf(ctx)
	steps := backtrack.NewSteps(mostSteps, func() error { return turn.Yield(ctx) })
	return context.WithValue(ctx, stepsKey{}, steps)
}

// stepsOf returns the steps of a context.
func stepsOf(ctx context.Context) *backtrack.Steps {
	steps, _ := ctx.Value(stepsKey{}).(*backtrack.Steps)
	return steps
}

// stepsErr returns why matching was given up in a context.
func stepsErr(ctx context.Context) error {
	err := stepsOf(ctx).Err()
	if errors.Is(err, backtrack.ErrTooExpensive) {
		return fmt.Errorf("%w: %w. Please use a simpler regexp, or another filter that leaves fewer series", storage.ErrLimit, err)
	}
	return err
}
