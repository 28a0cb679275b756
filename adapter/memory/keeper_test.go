package memory

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// When more memory is in use than allowed, queries are ended; memory that is in use without queries
// does not count.
func TestKeeper(t *testing.T) {
	queries := query.NewRegistry()
	k := &Keeper{budget: query.NewBudget(1 << 30), writes: 1 << 30, machine: 1 << 40, queries: queries, tuned: time.Now().Add(time.Hour)}
	k.look(heap{live: 5 << 30}, time.Now())
	if k.quiet != 5<<30 {
		t.Errorf("%d bytes are in use without queries, want 5 GiB", k.quiet)
	}
	ctx, q := queries.Begin(t.Context(), query.Description{})
	defer q.End()
	done := q.Estimated()
	k.look(heap{live: 7 << 30, objects: 8 << 30}, time.Now())
	if k.quiet != 5<<30 || ctx.Err() != nil {
		t.Errorf("within the limit: %d bytes in use without queries, query %v", k.quiet, ctx.Err())
	}
	k.look(heap{live: 8 << 30, objects: 8 << 30}, time.Now())
	if !errors.Is(context.Cause(ctx), query.ErrTooLarge) {
		t.Errorf("beyond the limit the query is %v", context.Cause(ctx))
	}
	done()
	k.look(heap{live: 6 << 30}, time.Now())
	if queries.AnyEstimated() || k.quiet != 6<<30 {
		t.Errorf("afterwards %d bytes are in use without queries", k.quiet)
	}
	k.machine = 1 << 30
	if got := k.most(); got != 7<<30 {
		t.Errorf("on a small machine %d bytes may be in use, want those without queries and the budget", got)
	}
}
