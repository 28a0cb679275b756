package rangeql

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/plan"
)

// Options of an Engine.
type Options struct {
	// Library is the engine that parses every query and evaluates those that are not answered from
	// columns. It must not use type and unit labels.
	Library *promql.Engine
	// DelayedNames means that Library drops the names of metrics only at the end
	// (EnableDelayedNameRemoval).
	DelayedNames bool
	// StartTimes means that Library uses the start times of samples (UseStartTimestamps). Series
	// that have any are left to it.
	StartTimes bool
	// MaxSamples is the limit of Library.
	MaxSamples int
	// DefaultStep is Library's step of a subquery without one; 0: a minute.
	DefaultStep time.Duration
	// InexactSums allows sum_over_time and avg_over_time to add the sums of intervals where the source has these:
	// their last digits may differ from the library's.
	InexactSums bool
	// Timeout bounds a query, as it does in Library. A query that is handed over to Library gets no
	// second one.
	Timeout time.Duration
	// NoMemory converts an error of the budget into the caller's error; nil: it stays as it is.
	NoMemory func(ctx context.Context, err error) error
	// Off leaves all queries to Library.
	Off bool
	// Shadow is the percentage of queries that Library answers as well. Differences are logged and
	// counted.
	Shadow float64
	Logger *slog.Logger // may be nil
	// Registerer may be nil: no metrics.
	Registerer prometheus.Registerer
}

// Engine is a promql.QueryEngine.
type Engine struct {
	o                            Options
	columns, library, handedOver prometheus.Counter
	left, shadows                *prometheus.CounterVec
}

// The paths of queries: from columns, by the library's engine, or handed over to that.
const (
	pathColumns    = "columns"
	pathLibrary    = "engine"
	pathHandedOver = "handed_over"
)

// New returns an engine.
func New(o Options) *Engine {
	paths := promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_promql_queries_total",
		Help: "PromQL queries by the way they were answered: from columns, by Prometheus' engine, or handed over to that when columns did not do.",
	}, []string{"path"})
	shadows := promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_promql_queries_shadowed_total",
		Help: "PromQL queries that Prometheus' engine answered as well (--query.promql-shadow), by how the answers compare: same, rounded (in the last bits), different.",
	}, []string{"result"})
	for _, result := range []string{"same", "rounded", "different"} {
		shadows.WithLabelValues(result)
	}
	if o.NoMemory == nil {
		o.NoMemory = func(_ context.Context, err error) error { return err }
	}
	return &Engine{
		o: o,
		left: promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "tsdbridge_promql_queries_left_total",
			Help: "PromQL queries that were left to Prometheus' engine, by the reason.",
		}, []string{"reason"}),
		shadows:    shadows,
		columns:    paths.WithLabelValues(pathColumns),
		library:    paths.WithLabelValues(pathLibrary),
		handedOver: paths.WithLabelValues(pathHandedOver),
	}
}

// With returns an engine with other limits and another default step over another library, which shares
// metrics with this one.
func (e *Engine) With(library *promql.Engine, maxSamples int, timeout, defaultStep time.Duration) *Engine {
	other := *e
	other.o.Library, other.o.MaxSamples, other.o.Timeout, other.o.DefaultStep = library, maxSamples, timeout, defaultStep
	return &other
}

var _ promql.QueryEngine = (*Engine)(nil)

// NewInstantQuery returns a query for one instant.
func (e *Engine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	w := &recordingQueryable{Queryable: q}
	library, err := e.o.Library.NewInstantQuery(asShort(ctx), w, o, text, at)
	return e.query(ctx, library, w, o), err
}

// NewRangeQuery returns a query for instants that lie a step apart.
func (e *Engine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	w := &recordingQueryable{Queryable: q}
	library, err := e.o.Library.NewRangeQuery(asShort(ctx), w, o, text, start, end, step)
	return e.query(ctx, library, w, o), err
}

type wholeStats struct{}

// WithStats leaves a query to the library's engine, whose statistics describe its own evaluation.
func WithStats(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeStats{}, true)
}

// query chooses how a query that the library has parsed is evaluated.
func (e *Engine) query(ctx context.Context, library promql.Query, w *recordingQueryable, o promql.QueryOpts) promql.Query {
	if library == nil {
		return nil
	}
	s, ok := library.Statement().(*parser.EvalStmt)
	if !ok || s.Expr == nil {
		return &counted{Query: library, count: e.library, recorded: w}
	}
	cost, err := limits.Estimate(s, limits.Options{MaxSamples: e.o.MaxSamples, DefaultStep: e.o.DefaultStep})
	if err != nil {
		return refused{library, err}
	}
	bounded := boundedQuery{library, cost, e}
	source, ok := w.Queryable.(columns.Source)
	switch {
	case !ok:
		return e.leave(bounded, w, "a storage without columns")
	case e.o.Off:
		return e.leave(bounded, w, "evaluation over columns is off")
	case ctx.Value(wholeStats{}) != nil || o != nil && o.EnablePerStepStats():
		return e.leave(bounded, w, "statistics")
	}
	p, err := plan.New(s, plan.Options{StartTimes: e.o.StartTimes, DefaultStep: e.o.DefaultStep, InexactSums: e.o.InexactSums})
	if err != nil {
		return e.leave(bounded, w, columns.FallbackReasonOf(err))
	}
	c := &columnQuery{Query: bounded, engine: e, source: source, plan: p}
	// This kind of query runs a function inside everything that surrounds an evaluation in the
	// library: its turn among other queries, the timeout, the metrics.
	c.run = e.o.Library.NewTestQuery(c.evaluate)
	return c
}

// leave leaves a query to the library.
func (e *Engine) leave(q promql.Query, w *recordingQueryable, why string) promql.Query {
	return &counted{Query: q, count: e.library, left: e.left.WithLabelValues(why), why: why, recorded: w}
}

// counted is a query of the library.
type counted struct {
	promql.Query
	count, left prometheus.Counter // left may be nil
	why         string             // empty: it is no query to be evaluated
	recorded    *recordingQueryable
	answer      *promql.Result // nil: not evaluated yet
	took        time.Duration
}

func (q *counted) Exec(ctx context.Context) *promql.Result {
	q.count.Inc()
	if q.left != nil {
		q.left.Inc()
	}
	begin := time.Now()
	q.answer = q.Query.Exec(ctx)
	q.took = time.Since(begin)
	if query.From(ctx).IsSlow() {
		query.TraceOf(ctx).Set(q.explain().Shape())
	}
	return q.answer
}

// columnQuery is a query of a shape that is answered from columns. It embeds the library's query of
// the same text.
type columnQuery struct {
	promql.Query
	engine *Engine
	source columns.Source
	plan   *plan.Plan
	run    promql.Query

	handedOver bool
	left       string // why
	points     plan.Points
	value      parser.Value
	warnings   annotations.Annotations
}

// Exec runs the query.
func (q *columnQuery) Exec(ctx context.Context) *promql.Result {
	if q.engine.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.engine.o.Timeout)
		defer cancel()
	}
	result := q.traced(ctx)
	if errors.Is(result.Err, columns.ErrHandOver) {
		q.handedOver = true
		q.engine.handedOver.Inc()
		q.left = columns.FallbackReasonOf(result.Err)
		q.engine.left.WithLabelValues(q.left).Inc()
		q.points.Free()
		defer q.explainSlow(ctx)
		return q.Query.Exec(ctx)
	}
	q.engine.columns.Inc()
	q.explainSlow(ctx)
	answer := &promql.Result{Err: result.Err, Value: q.value, Warnings: q.warnings}
	q.shadow(ctx, answer)
	return answer
}

// traced computes the query from columns, in a span of its own. That another engine takes the query
// over is no failure.
func (q *columnQuery) traced(ctx context.Context) *promql.Result {
	ctx, span := tracing.Start(ctx, "evaluate")
	result := q.run.Exec(ctx)
	if errors.Is(result.Err, columns.ErrHandOver) {
		span.End(nil)
	} else {
		span.End(result.Err)
	}
	return result
}

// explainSlow gives the trace of a request that has taken long the tree of the query.
func (q *columnQuery) explainSlow(ctx context.Context) {
	if query.From(ctx).IsSlow() {
		query.TraceOf(ctx).Set(q.explain().Shape())
	}
}

// Stats returns the statistics of the evaluation that gave the answer.
func (q *columnQuery) Stats() *stats.Statistics {
	if q.handedOver {
		return q.Query.Stats()
	}
	return q.run.Stats()
}

// Cancel ends the evaluation.
func (q *columnQuery) Cancel() {
	q.run.Cancel()
	q.Query.Cancel()
}

// Close takes back the memory of the answer.
func (q *columnQuery) Close() {
	q.Query.Close()
	q.value = nil
	q.points.Free()
}

// evaluate answers the query, or returns ErrHandOver.
func (q *columnQuery) evaluate(ctx context.Context) (err error) {
	defer operator.Recovered(&err)
	e := &operator.Evaluation{
		Ctx: ctx, Source: q.source, Account: query.AccountOf(ctx),
		Delayed: q.engine.o.DelayedNames, MaxSamples: int64(q.engine.o.MaxSamples), Steps: q.plan.Grid, Repairs: annotation.RepairsFrom(ctx),
	}
	held := e.Account.Held()
	q.value, err = q.plan.Evaluate(e, &q.points)
	q.warnings = e.Warnings
	switch {
	case errors.Is(err, columns.ErrHandOver):
		e.Account.Give(e.Account.Held() - held)
		return err
	case errors.Is(err, query.ErrBusy), errors.Is(err, query.ErrTooLarge):
		return q.engine.o.NoMemory(ctx, err)
	case err != nil:
		return err
	}
	if err := operator.ContextError(ctx); err != nil {
		return err
	}
	samples := q.run.Stats().Samples
	samples.TotalSamples, samples.SamplesRead = q.plan.Counts()
	e.Repairs.SetComplete()
	return nil
}
