// Package engine is the one PromQL engine of the adapter. A query passes its stages:
//
//	sharing    equal queries at one time share one evaluation
//	lookback   how long the newest sample of each series counts, by rules
//	resultcache  steps of range queries that were computed before and did not change
//	limits     what the evaluation may cost
//	rangeql    plan and operators over columns, bit for bit as Prometheus' engine
//	library    Prometheus' engine: it parses all queries, and evaluates those without a plan
//
// The package knows no HTTP.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/features"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// Options of an Engine.
type Options struct {
	// Limits can change while queries run; see With.
	Limits
	// Parser parses queries and answers of the cache.
	Parser parser.Parser
	// Gate gives queries their turns.
	Gate promql.QueryTracker
	// Off leaves all queries to the library.
	Off bool
	// Shadow is the percentage of queries that the library answers as well, to compare the answers.
	Shadow float64
	// RollupSums allows sums over time to be made of those in rollup tables.
	RollupSums bool
	// CacheBytes bounds the answers that are kept; 0: none are.
	CacheBytes int64
	// Format writes the points of answers that are kept.
	Format resultcache.Format
	// Changes reports which points change; nil: that is not known, and no answer is kept or shared with
	// a query that comes later.
	Changes resultcache.Store
	// Budget is the memory of all queries.
	Budget *query.Budget
	// Steps finds the steps of series; nil: none is known.
	Steps lookback.Steps
	// Queryable is the store that Query reads.
	Queryable promstorage.Queryable
	// MetricName returns the value of __name__ for a stored metric.
	MetricName func(metric string) string
	Logger     *slog.Logger
	// Registerer may be nil: no metrics.
	Registerer prometheus.Registerer
}

// Limits of an Engine.
type Limits struct {
	// Timeout of a query, its wait for a turn included.
	Timeout time.Duration
	// Samples that a query may hold in memory at once.
	Samples int
	// Lookback is the age of the oldest sample that an instant still shows.
	Lookback time.Duration
	// DefaultStep is the step of a subquery without one; 0: a minute.
	DefaultStep time.Duration
	// Lookbacks are rules of metrics with other lookbacks; see lookback.Parse.
	Lookbacks []string
}

// defaultStep is the evaluation interval of a Prometheus without configuration, if there is no other.
func (l Limits) defaultStep() time.Duration { return cmp.Or(l.DefaultStep, time.Minute) }

// Engine is a promql.QueryEngine, whose answers are all evaluated. Query also returns answers that are
// kept or shared.
type Engine struct {
	o        Options
	features features.Collector
	columns  *rangeql.Engine
	cache    *resultcache.Engine // over columns; nil: no answers are kept
	// fresh evaluates each query, kept may take answers of the cache.
	fresh, kept lookback.Engine
	sharing     *sharing
}

var _ promql.QueryEngine = (*Engine)(nil)

// New returns an engine.
func New(o Options) *Engine {
	registry := features.NewRegistry()
	e := &Engine{o: o, features: registry}
	e.columns = newColumns(o, newLibrary(o, registry))
	e.cache = newCache(o, e.columns)
	e.join()
	return e
}

// With returns an engine with other limits, which shares turns, metrics and kept answers with this
// one.
func (e *Engine) With(l Limits) *Engine {
	other := &Engine{o: e.o, features: e.features, columns: e.columns, cache: e.cache}
	other.o.Limits = l
	if e.o.Samples != l.Samples || e.o.Timeout != l.Timeout || e.o.defaultStep() != l.defaultStep() {
		replaced := other.o
		replaced.Registerer = replacing{e.o.Registerer}
		registry := features.NewRegistry()
		other.features = registry
		other.columns = e.columns.With(newLibrary(replaced, registry), l.Samples, l.Timeout, l.defaultStep())
	}
	if e.cache != nil {
		other.cache = e.cache.With(other.columns, l.defaultStep())
	}
	other.join()
	return other
}

// join puts the upper stages over columns and the cache.
func (e *Engine) join() {
	rules, _ := lookback.Parse(e.o.Lookbacks) // checked with the flags
	e.fresh = lookback.Engine{Next: e.columns, Rules: rules, Base: e.o.Lookback, Steps: e.o.Steps, Parser: e.o.Parser}
	e.kept = e.fresh
	if e.cache != nil {
		e.kept.Next = e.cache
	}
	e.sharing = newSharing(e)
}

// Features returns what the engine has.
func (e *Engine) Features() features.Collector { return e.features }

// Parser returns the parser of the engine.
func (e *Engine) Parser() parser.Parser { return e.o.Parser }

// NewInstantQuery implements promql.QueryEngine.
func (e *Engine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	return e.fresh.NewInstantQuery(ctx, q, o, text, at)
}

// NewRangeQuery implements promql.QueryEngine.
func (e *Engine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.fresh.NewRangeQuery(ctx, q, o, text, start, end, step)
}

// Library returns an engine of the Prometheus module, for stores that are not the adapter's. It waits
// for no turn.
func (e *Engine) Library() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: e.o.Logger, MaxSamples: e.o.Samples, Timeout: cmp.Or(e.o.Timeout, time.Hour), LookbackDelta: e.o.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return e.o.defaultStep().Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: e.o.Parser,
	})
}

// newLibrary makes an engine of the Prometheus module as the Prometheus server does.
func newLibrary(o Options, f features.Collector) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger:                   o.Logger,
		Reg:                      o.Registerer,
		MaxSamples:               o.Samples,
		Timeout:                  o.Timeout,
		ActiveQueryTracker:       o.Gate,
		LookbackDelta:            o.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return o.defaultStep().Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       true,
		FeatureRegistry:          f,
		Parser:                   pathlabel.Evaluated(o.Parser),
	})
}

// newColumns makes the stage that evaluates over columns.
func newColumns(o Options, library *promql.Engine) *rangeql.Engine {
	return rangeql.New(rangeql.Options{
		Library: library, MaxSamples: o.Samples, DefaultStep: o.defaultStep(), Timeout: o.Timeout, Registerer: o.Registerer,
		Off: o.Off, Shadow: o.Shadow, Logger: o.Logger, NoMemory: outOfMemory, InexactSums: o.RollupSums,
	})
}

// newCache makes the stage that keeps answers; nil: none are to be kept.
func newCache(o Options, columns promql.QueryEngine) *resultcache.Engine {
	if o.CacheBytes == 0 || o.Changes == nil {
		return nil
	}
	return resultcache.New(resultcache.Options{
		Engine: columns, Parser: o.Parser, Store: o.Changes, MaxBytes: o.CacheBytes, Budget: o.Budget,
		Lookback: o.Lookback, DefaultStep: o.defaultStep(), MetricName: o.MetricName,
		Format: o.Format, NoMemory: outOfMemory, Now: time.Now, Registerer: o.Registerer,
	})
}

func outOfMemory(ctx context.Context, err error) error {
	return httpapi.QueryError(ctx, "evaluate", err)
}

// A replacing registerer has new collectors take the place of those with the same names: Prometheus'
// engine registers its own, and its limits are fixed when it is made.
type replacing struct{ prometheus.Registerer }

// MustRegister implements prometheus.Registerer.
func (r replacing) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](r.Register(c)); ok {
			r.Unregister(already.ExistingCollector)
			r.Registerer.MustRegister(c)
		}
	}
}
