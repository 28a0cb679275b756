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

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/spare"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Store tells which points change. It returns false if it does not know.
type Store interface {
	Read(from, to int64) (*storage.Reading, bool)
}

// Options of an Engine.
type Options struct {
	Engine promql.QueryEngine // evaluates what is not kept
	Parser parser.Parser      // the one of Engine
	Store  Store
	// MaxBytes bounds the memory of all answers that are kept. They give way to queries that need
	// memory of Budget.
	MaxBytes int64
	Budget   *budget.Budget
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
	entries *spare.Cache[key, entry]
	metrics metrics
}

// New returns an engine over another one.
func New(o Options) *Engine {
	e := &Engine{o: o, entries: newEntries(o)}
	e.metrics = newMetrics(o.Registerer, e.entries)
	return e
}

var _ promql.QueryEngine = (*Engine)(nil)

// NewInstantQuery returns a query that is not kept: it has no steps that a later one shares.
func (e *Engine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.o.Engine.NewInstantQuery(ctx, q, o, text, at)
}

// NewRangeQuery returns a query that evaluates the steps that are not kept.
func (e *Engine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	whole, err := e.o.Engine.NewRangeQuery(ctx, q, o, text, start, end, step)
	if err != nil || ctx.Value(without{}) != nil || o != nil && o.EnablePerStepStats() {
		return whole, err
	}
	parsed, err := e.o.Parser.ParseExpr(text)
	if err != nil {
		return whole, nil //nolint:nilerr // the engine has parsed it
	}
	lookback := e.o.Lookback
	if o != nil && o.LookbackDelta() > 0 {
		lookback = o.LookbackDelta()
	}
	shape, ok := shapeOf(parsed, lookback.Milliseconds(), e.o.DefaultStep.Milliseconds())
	g := grid{first: start.UnixMilli(), last: end.UnixMilli(), step: step.Milliseconds()}
	if !ok || g.step <= 0 || g.last < g.first {
		e.metrics.count("not_kept")
		return whole, nil
	}
	g.last -= (g.last - g.first) % g.step
	return &query{
		Query: whole, engine: e, shape: shape, grid: g,
		key: key{text: text, step: g.step, phase: mod(g.first, g.step), lookback: lookback},
		between: func(ctx context.Context, from, to int64) (promql.Query, error) {
			return e.o.Engine.NewRangeQuery(ctx, q, o, text, time.UnixMilli(from).UTC(), time.UnixMilli(to).UTC(), step)
		},
	}, nil
}

type without struct{}

// Without returns a context whose queries are evaluated as a whole, and not kept.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, without{}, true) }

func mod(a, b int64) int64 { return (a%b + b) % b }
