// Package query serves Prometheus' query API over a store: PromQL, lists of labels and series, metadata and status. It writes nothing.
package query

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/turns"
)

// promVersion is the Prometheus whose API is answered: Grafana chooses what to ask for by it. Module v0.MNN.P is version M.NN.P.
const promVersion = "3.15.0"

// Prefix is the path that the API is mounted under.
const Prefix = "/api/v1"

// Options are the parts and limits of the query API.
type Options struct {
	Store    storage.Querier
	Metadata metadataReader
	Names    queryable.Names
	// Queryable shows Store under Names.
	Queryable *queryable.Store
	Engine    EngineOptions
	// Ready says what is missing before queries can be answered; nil means never anything.
	Ready func() error
	// CORSOrigin is a regular expression, anchored, of the origins whose scripts may ask; empty: none.
	CORSOrigin string
	// Flags are shown under status/flags.
	Flags      map[string]string
	Started    time.Time
	Revision   string // of this program
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Gatherer   prometheus.Gatherer   // nil: status/self_metrics is empty
}

// EngineOptions bound PromQL queries. None of them has a meaning at 0.
type EngineOptions struct {
	MaxSamples  int           // samples in memory at once, of one query
	Timeout     time.Duration // of one query, waiting included
	Lookback    time.Duration // how old the newest sample of an instant may be
	Concurrency int           // queries at once; others wait
	// Running is told how to end each query that is evaluated by Prometheus' engine; nil: nobody is.
	Running func(end context.CancelCauseFunc) (done func())
}

// New serves everything below /api/v1/ but write: the module's engine and API over our store, with our own
// metadata, which the module knows from scrape targets only, and our own remote read.
func New(o Options) (http.Handler, error) {
	cors, err := regexp.Compile("^(?:" + o.CORSOrigin + ")$")
	if err != nil {
		return nil, err
	}
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	queryable := o.Queryable
	ready := o.whenReady
	router := route.New()
	gate := newQueryGate(o.Engine.Concurrency)
	newModuleAPI(o, gate, queryable, cors).Register(router)
	own := map[string]http.Handler{
		Prefix + "/metadata": ready((&metadataHandler{metadata: o.Metadata, names: o.Names, cors: cors}).ServeHTTP),
	}
	if p, ok := o.Store.(planner); ok {
		own[Prefix+"/status/plan"] = ready((&planHandler{queryable: queryable, planner: p, now: time.Now}).ServeHTTP)
	}
	if c, ok := o.Store.(cardinalityReader); ok {
		own[Prefix+"/status/tsdb"] = ready((&tsdbStatusHandler{store: c, names: o.Names, cors: cors}).ServeHTTP)
	}
	for path, text := range notServed() {
		own[Prefix+path] = notFoundHandler(text)
	}
	rest := http.StripPrefix(Prefix, statsWhole(router))
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, cancel, err := o.bounded(w, r)
		defer cancel()
		if err != nil {
			reply.APIError(w, err)
			return
		}
		if h := own[r.URL.Path]; h != nil && r.Method != http.MethodOptions {
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
	lists := newAPITurns(o.Engine.Timeout)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case ordinary(r):
			answer.ServeHTTP(w, r.WithContext(gate.admit(r.Context())))
		default:
			lists.serve(w, r, answer)
		}
	}), nil
}

// statsWhole has queries that ask for statistics answered by Prometheus' engine, whose statistics they are.
func statsWhole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("stats") != "" {
			r = r.WithContext(rangeql.WithStats(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}

// defaultStep is that of a subquery without one: the evaluation interval of a Prometheus without configuration.
const defaultStep = time.Minute

// newEngine makes a PromQL engine as the Prometheus server does, with a short way for the shapes of query that are asked most.
func newEngine(o Options, gate *queryGate, p parser.Parser, f features.Collector) promql.QueryEngine {
	library := promql.NewEngine(promql.EngineOpts{
		Logger:                   o.Logger,
		Reg:                      o.Registerer,
		MaxSamples:               o.Engine.MaxSamples,
		Timeout:                  o.Engine.Timeout,
		ActiveQueryTracker:       gate,
		LookbackDelta:            o.Engine.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return defaultStep.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       true,
		FeatureRegistry:          f,
		Parser:                   p,
	})
	return rangeql.New(rangeql.Options{
		Library: library, MaxSamples: o.Engine.MaxSamples, DefaultStep: defaultStep, Timeout: o.Engine.Timeout, Registerer: o.Registerer,
		Running:  o.Engine.Running,
		NoMemory: func(ctx context.Context, err error) error { return reply.QueryError(ctx, "evaluate", err) },
	})
}

func newModuleAPI(o Options, gate *queryGate, q *queryable.Store, cors *regexp.Regexp) *v1.API {
	registry := features.NewRegistry()
	promParser := parser.NewParser(parser.Options{ExperimentalDurationExpr: true})
	api := v1.NewAPI(
		newEngine(o, gate, promParser, registry),
		q,
		nil, nil, // appenders: writing is not the module's here
		q,
		func(context.Context) v1.ScrapePoolsRetriever { return noTargets{} },
		func(context.Context) v1.TargetRetriever { return noTargets{} },
		func(context.Context) v1.AlertmanagerRetriever { return noTargets{} },
		func() config.Config { return config.DefaultConfig },
		o.Flags,
		v1.GlobalURLOptions{},
		o.whenReady,
		noAdmin{},
		"",    // directory of the TSDB
		false, // admin
		false, // search
		0,     // limit of search
		o.Logger,
		func(context.Context) v1.RulesRetriever { return noTargets{} },
		0, 1, 0, // remote read of the module, which ours covers
		false, // agent
		cors,
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
		o.Engine.Lookback,
		false, // type and unit labels
		false, // metadata by appenders
		overrideStatus,
		registry,
		v1.OpenAPIOptions{Version: promVersion},
		promParser,
	)
	api.ClearCodecs()
	api.InstallCodec(newResultCodec())
	return api
}

// whenReady answers 503 instead of f while something is missing.
func (o Options) whenReady(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if o.Ready != nil {
			if err := o.Ready(); err != nil {
				reply.JSON(w, http.StatusServiceUnavailable, reply.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
				return
			}
		}
		f(w, r)
	}
}

// buildInfo is the version of Prometheus whose API this is, and the revision of this program.
func (o Options) buildInfo() *v1.PrometheusVersion {
	return &v1.PrometheusVersion{Version: promVersion, Revision: o.Revision, GoVersion: runtime.Version()}
}

// runtimeInfo describes this process; it has no configuration that could fail to reload and no TSDB.
func (o Options) runtimeInfo() (v1.RuntimeInfo, error) {
	host, err := os.Hostname()
	return v1.RuntimeInfo{
		StartTime:           o.Started,
		Hostname:            host,
		ServerTime:          time.Now().UTC(),
		ReloadConfigSuccess: true,
		LastConfigTime:      o.Started,
		GoroutineCount:      runtime.NumGoroutine(),
		GOMAXPROCS:          runtime.GOMAXPROCS(0),
		GOMEMLIMIT:          debug.SetMemoryLimit(-1),
		GOGC:                os.Getenv("GOGC"),
		GODEBUG:             os.Getenv("GODEBUG"),
	}, err
}

// queryGate bounds the queries that compute at once, but for those that read nothing. It keeps no file of them, as Prometheus' own tracker does.
type queryGate struct {
	turns *turns.Turns
	most  int

	mu   sync.Mutex // guards all below
	held map[int]*turns.Turn
	next int
}

func newQueryGate(n int) *queryGate {
	n = max(1, n)
	return &queryGate{turns: turns.New(min(n, turns.Most())), most: n, held: map[int]*turns.Turn{}}
}

// admit gives the queries of a request a turn, which begins with Insert.
func (g *queryGate) admit(ctx context.Context) context.Context {
	return turns.With(ctx, g.turns.Later())
}

// GetMaxConcurrent returns the bound.
func (g *queryGate) GetMaxConcurrent() int { return g.most }

// Insert waits for the turn of a query.
func (g *queryGate) Insert(ctx context.Context, _ string) (int, error) {
	if rangeql.IsShort(ctx) {
		return withoutTurn, nil
	}
	turn := turns.From(ctx)
	if err := turn.Resume(ctx); err != nil {
		return 0, reply.QueryError(ctx, "wait for other queries", err)
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

// overrideStatus is queryStatus as web/api/v1 wants it. The type of its first argument is not exported there.
func overrideStatus[N any](_ N, err error) (status int, ok bool) { return reply.QueryStatus(err) }
