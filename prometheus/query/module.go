package query

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// promVersion is the version of Prometheus whose API is served. Grafana chooses its requests by it.
// Module v0.MNN.P is version M.NN.P.
const promVersion = "3.15.0"

// defaultStep is the step of a subquery without one: the evaluation interval of a Prometheus
// without configuration, if there is no other one.
func (o Options) defaultStep() time.Duration { return cmp.Or(o.DefaultStep, time.Minute) }

// searchMost bounds the limit of a search.
const searchMost = 10_000

// newLibrary makes a PromQL engine as the Prometheus server does.
func newLibrary(o Options, gate *queryGate, p parser.Parser, f features.Collector) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger:                   o.Logger,
		Reg:                      o.Registerer,
		MaxSamples:               o.Samples,
		Timeout:                  o.Timeout,
		ActiveQueryTracker:       gate,
		LookbackDelta:            o.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return o.defaultStep().Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       true,
		FeatureRegistry:          f,
		Parser:                   pathlabel.Evaluated(p),
	})
}

// Module returns an engine of the module, for stores that are not the adapter's. It waits for no turn.
func (a *API) Module() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: a.o.Logger, MaxSamples: a.o.Samples, Timeout: cmp.Or(a.o.Timeout, time.Hour), LookbackDelta: a.o.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return a.o.defaultStep().Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: a.parser,
	})
}

// newEngine makes the engine that evaluates over columns.
func newEngine(o Options, library *promql.Engine) *rangeql.Engine {
	return rangeql.New(rangeql.Options{
		Library: library, MaxSamples: o.Samples, DefaultStep: o.defaultStep(), Timeout: o.Timeout, Registerer: o.Registerer,
		Off:      o.Engine == EnginePrometheus,
		Shadow:   o.Shadow,
		Logger:   o.Logger,
		NoMemory: outOfMemory,

		InexactSums: o.RollupSums,
	})
}

// newCache keeps the answers of an engine; nil: they are not to be kept.
func newCache(engine promql.QueryEngine, o Options, p parser.Parser) *resultcache.Engine {
	if o.CacheBytes == 0 || o.Changes == nil {
		return nil
	}
	return resultcache.New(resultcache.Options{
		Engine: engine, Parser: p, Store: o.Changes, MaxBytes: o.CacheBytes, Budget: o.Budget,
		Lookback: o.Lookback, DefaultStep: o.defaultStep(), MetricName: o.Names.FromMetric,
		Format:   resultcache.Format{Labels: appendHead, Time: appendTimeText, Value: appendPointValue},
		NoMemory: outOfMemory, Now: time.Now, Registerer: o.Registerer,
	})
}

func outOfMemory(ctx context.Context, err error) error {
	return httpapi.QueryError(ctx, "evaluate", err)
}

// newModuleAPI makes the API of the Prometheus module.
func newModuleAPI(o Options, engine promql.QueryEngine, promParser parser.Parser, registry features.Collector) *v1.API {
	api := v1.NewAPI(
		engine,
		o.Queryable,
		nil, nil, // appenders: the module does not write here
		o.Queryable,
		func(context.Context) v1.ScrapePoolsRetriever { return noTargets{} },
		func(context.Context) v1.TargetRetriever { return noTargets{} },
		o.alertmanagers,
		func() config.Config { return config.DefaultConfig },
		o.Flags,
		v1.GlobalURLOptions{},
		// the store's errors report that it is not ready
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		&deletions{shown: o.Queryable, deleter: o.Deleter, logger: o.Logger},
		"", // directory of the TSDB
		o.Admin,
		true, searchMost,
		o.Logger,
		o.rules,
		0, 1, 0, // remote read of the module; ours is used
		false, // agent
		o.Origins,
		o.runtimeInfo,
		o.buildInfo(),
		func() []notifications.Notification { return []notifications.Notification{} },
		func() (<-chan notifications.Notification, func(), bool) { return nil, nil, false },
		o.Gatherer,
		nil,        // registerer: of the module's remote read only
		nil,        // stats: the default
		false, nil, // remote write and its messages
		false, false, false, // OTLP
		false, // zero samples at start times
		o.Lookback,
		false, // type and unit labels
		false, // metadata by appenders
		overrideStatus,
		registry,
		noDescription(),
		promParser,
	)
	api.ClearCodecs()
	api.InstallCodec(newResultCodec())
	return api
}

// overrideStatus is httpapi.QueryStatus in the form that web/api/v1 wants. The type of its first
// argument is not exported there.
func overrideStatus[N any](_ N, err error) (status int, ok bool) { return httpapi.QueryStatus(err) }
