package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// ErrEnded is the cause of the context of a query that End or Cancel has ended.
var ErrEnded = errors.New("the query was ended by its id")

// A Registry holds the queries that are being answered. It is safe for concurrent use. A nil
// Registry holds nothing.
type Registry struct {
	slowAfter atomic.Int64 // nanoseconds, see Watch
	tell      func(Slow)
	metrics   measures // see Measure

	mu      sync.Mutex // guards all below
	queries map[string]*Query
	slow    []Slow // the last one last

	evaluations map[*Evaluation]struct{} // of queries that share them
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{queries: map[string]*Query{}, evaluations: map[*Evaluation]struct{}{}}
}

// A Description says what a query is.
type Description struct {
	Language string // "promql", "remote read", "native export", "graphite" or "opentsdb"
	Text     string
	Client   string // address, empty if it is not known
}

// A Query is a query that is being answered. A nil Query counts nothing.
type Query struct {
	Description

	registry *Registry
	id       string
	started  time.Time
	account  *Account
	ctx      context.Context //nolint:containedctx // its cause tells how the query ended
	end      context.CancelCauseFunc
	samples  atomic.Int64
	span     tracing.Span
	tally    *Tally // of what is read
	trace    *Trace // of how it is answered
	uses     atomic.Pointer[Evaluation]
	// estimated is how many evaluations take memory that was only estimated in advance.
	estimated atomic.Int64
}

// A State describes a query at an instant.
type State struct {
	Description

	ID      string
	Started time.Time
	Memory  int64 // bytes held from the budget
	Samples int64 // read so far
	// Ways is what was read from the tables and the head so far.
	Ways []WayCounts
}

// Begin registers a query until End is called. Its context ends with the query, and has a tally and a
// trace. The budget's account of ctx is the memory of the query.
func (r *Registry) Begin(ctx context.Context, d Description) (context.Context, *Query) {
	if r == nil {
		return ctx, nil
	}
	q := &Query{Description: d, registry: r, started: time.Now(), account: AccountOf(ctx)}
	ctx, q.span = tracing.Start(ctx, "query")
	q.span.Text("query.language", d.Language)
	q.span.Text("query.text", d.Text)
	ctx, q.end = context.WithCancelCause(ctx)
	q.tally, q.trace = &Tally{whole: TallyOf(ctx)}, &Trace{}
	ctx = with(ctx, func(h *handle) { h.query, h.tally, h.trace, h.client = q, q.tally, q.trace, hostOf(d.Client) })
	q.ctx = ctx
	r.mu.Lock()
	defer r.mu.Unlock()
	for q.id == "" || r.queries[q.id] != nil {
		q.id = fmt.Sprintf("%016x", rand.Uint64()) //nolint:gosec // no secret
	}
	r.queries[q.id] = q
	r.metrics.began(q)
	return ctx, q
}

// End removes the query from the registry and ends its context.
func (q *Query) End() {
	if q == nil {
		return
	}
	cause := context.Cause(q.ctx)
	q.span.Number("query.samples", q.Samples())
	q.span.Number("query.memory_bytes", q.most())
	q.span.End(cause)
	q.end(nil)
	q.registry.mu.Lock()
	delete(q.registry.queries, q.id)
	q.registry.mu.Unlock()
	q.registry.ended(q, cause)
}

// List returns the queries, the oldest first.
func (r *Registry) List() []State {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]State, 0, len(r.queries))
	for _, q := range r.queries {
		list = append(list, q.state())
	}
	slices.SortFunc(list, func(a, b State) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (q *Query) state() State {
	s := State{
		Description: q.Description, ID: q.id, Started: q.started, Memory: q.account.Held(), Samples: q.Samples(),
		Ways: q.tally.Ways(),
	}
	if work := q.shared(); work != nil {
		s.Memory += work.account.Held()
		s.Ways = MergeWays(q.tally, work.tally)
	}
	return s
}

// Cancel ends the context of a query with ErrEnded and returns what the query was doing. ok is false
// if there is no such query.
func (r *Registry) Cancel(id string) (s State, ok bool) {
	if r == nil {
		return s, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queries[id]
	if q == nil {
		return s, false
	}
	q.end(ErrEnded)
	return q.state(), true
}

// Read counts samples that the query has read.
func (q *Query) Read(samples int) {
	if q != nil {
		q.samples.Add(int64(samples))
	}
}

// Samples returns how many samples the query has read.
func (q *Query) Samples() int64 {
	if q == nil {
		return 0
	}
	n := q.samples.Load()
	if work := q.shared(); work != nil {
		n += work.samples.Load()
	}
	return n
}

// IsSlow reports whether the query takes so long that it will be kept as a slow one.
func (q *Query) IsSlow() bool {
	return q != nil && q.registry.slowAfter.Load() > 0 && time.Since(q.started) >= time.Duration(q.registry.slowAfter.Load())
}
