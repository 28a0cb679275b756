// Package resultcache keeps the answers of range queries, and evaluates of a later query only the
// steps that are new or that changed points reach. A dashboard that is refreshed costs what is new.
// Its answers have the bits that the engine below it would give: a store tells which points have
// changed, and a query whose steps do not stand alone is not kept (see shape.go). It evaluates
// nothing itself, never shifts a step, and lets nothing grow old.
package resultcache

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// Store tells which points change. It returns false if it does not know.
type Store interface {
	Read(from, to int64) (*store.Reading, bool)
}

// Options of an Engine.
type Options struct {
	Engine promql.QueryEngine // evaluates what is not kept
	Parser parser.Parser      // the one of Engine
	Store  Store
	// MaxBytes bounds the memory of all answers that are kept. They give way to queries that need
	// memory of Budget.
	MaxBytes int64
	Budget   *query.Budget
	// Lookback and DefaultStep are Engine's: the age of the oldest sample that an instant still shows,
	// and the step of a subquery without one.
	Lookback, DefaultStep time.Duration
	// Format writes the points of answers.
	Format Format
	// MetricName returns the value of __name__ for a stored metric.
	MetricName func(metric string) string
	// NoMemory converts an error of the budget into the caller's error.
	NoMemory   func(ctx context.Context, err error) error
	Now        func() time.Time
	Registerer prometheus.Registerer // may be nil: no metrics
}

// Engine is a promql.QueryEngine.
type Engine struct {
	o       Options
	entries *cache.Budgeted[key, entry]
	metrics metrics
}

// New returns an engine over another one.
func New(o Options) *Engine {
	e := &Engine{o: o, entries: newEntries(o)}
	e.metrics = newMetrics(o.Registerer, e.entries)
	return e
}

// With returns an engine over another one that gives the same answers, but for the step of subqueries
// without one. Both share what is kept.
func (e *Engine) With(engine promql.QueryEngine, defaultStep time.Duration) *Engine {
	other := *e
	other.o.Engine, other.o.DefaultStep = engine, defaultStep
	return &other
}

var _ promql.QueryEngine = (*Engine)(nil)

// NewInstantQuery returns a query that is not kept: it has no steps that a later one shares.
func (e *Engine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.o.Engine.NewInstantQuery(ctx, q, o, text, at)
}

// NewRangeQuery returns a query that evaluates the steps that are not kept. A text of which something
// is kept is not parsed before it turns out that some steps have to be evaluated.
func (e *Engine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	g := grid{first: start.UnixMilli(), last: end.UnixMilli(), step: step.Milliseconds()}
	makes := func(ctx context.Context, g grid) (promql.Query, error) {
		last := time.UnixMilli(g.last).UTC()
		if g.first == g.last && end.After(start) && step > time.Millisecond {
			// One step of a range is none of an instant: some annotations, and the order of some checks, differ.
			last = last.Add(time.Millisecond)
		}
		return e.o.Engine.NewRangeQuery(ctx, q, o, text, time.UnixMilli(g.first).UTC(), last, step)
	}
	whole := func() (promql.Query, error) { return e.o.Engine.NewRangeQuery(ctx, q, o, text, start, end, step) }
	if ctx.Value(without{}) != nil || o != nil && o.EnablePerStepStats() {
		return whole()
	}
	if g.step <= 0 || g.last < g.first {
		e.metrics.count("not_kept")
		return whole()
	}
	g.last -= (g.last - g.first) % g.step
	lookback := e.o.Lookback
	if o != nil && o.LookbackDelta() > 0 {
		lookback = o.LookbackDelta()
	}
	k := &cachedQuery{
		engine: e, grid: g, make: makes,
		key: key{text: text, step: g.step, phase: mod(g.first, g.step), lookback: lookback, inner: e.o.DefaultStep},
	}
	if known, ok := e.entries.Get(k.key); ok {
		k.shape = known.shape
		return k, nil
	}
	run, err := whole()
	if err != nil {
		return run, err
	}
	parsed, err := e.o.Parser.ParseExpr(text)
	if err != nil {
		return run, nil //nolint:nilerr // the engine has parsed it
	}
	shape, ok := shapeOf(parsed, lookback.Milliseconds(), e.o.DefaultStep.Milliseconds())
	if !ok {
		e.metrics.count("not_kept")
		return run, nil
	}
	k.shape, k.run, k.whole = shape, run, true
	return k, nil
}

type without struct{}

// Without returns a context whose queries are evaluated as a whole, and not kept.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, without{}, true) }

func mod(a, b int64) int64 { return (a%b + b) % b }
