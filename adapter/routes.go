package adapter

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/read"
	"github.com/tsdbridge/tsdbridge/prometheus/write"
)

// ready says what keeps the adapter from answering, nil when nothing does.
func (a *Adapter) ready(ctx context.Context) error {
	if err := a.store.Ready(ctx); err != nil {
		return err
	}
	return a.trees.Ready()
}

// metricsAtOnce is how many scrapes are answered at once; each takes some milliseconds of a core.
const metricsAtOnce = 8

// routes is the whole HTTP front door.
func (a *Adapter) routes() (http.Handler, error) {
	gatherer := prometheus.Gatherers{a.registry, prometheus.DefaultGatherer}
	shown := queryable.New(a.store, a.names, queryable.Limits{Series: a.o.QuerySeries, Samples: int64(a.o.QuerySamples)})
	reads := read.New(read.Options{
		Queryable: shown, Logger: a.o.Logger, Registerer: a.registry,
		SampleLimit: cmp.Or(a.o.ReadSamples, a.o.QuerySamples), Concurrency: a.o.QueryParallel, Timeout: a.o.QueryTimeout,
	})
	api, err := query.New(query.Options{
		Store: a.store, Metadata: a.store, Names: a.names, Queryable: shown, Revision: revision(),
		Engine:     query.EngineOptions{MaxSamples: a.o.QuerySamples, Timeout: a.o.QueryTimeout, Lookback: a.o.Lookback, Concurrency: a.o.QueryParallel, Running: a.queries.Add},
		CORSOrigin: a.o.CORSOrigin, Flags: a.o.Flags, Started: a.started,
		Logger: a.o.Logger, Registerer: a.registry, Gatherer: gatherer,
	})
	if err != nil {
		return nil, fmt.Errorf("--web.cors-origin: %w", err)
	}
	limits := a.o.WriteLimits
	limits.SeriesCache = a.o.SeriesCache
	writes := write.New(write.Options{
		Appender: a.store, Metadata: a.store, Translator: a.names, Limits: limits,
		Logger: a.o.Logger, Registerer: a.registry, Now: a.o.Now,
	})
	a.store.OnRename(writes.DropCaches)
	status := &statusHandler{ready: a.ready, verbose: a.describe, engine: a.o.engineName(), started: a.started}
	explainer := treeExplainer{forest: a.trees.Forest(), store: a.store, names: a.names}
	trees := &treeAPI{explainer, a.trees.Follower()}
	shower := &treeShower{tool: &treeTool{treeExplainer: explainer, o: a.o, db: a.db, tables: a.store}}
	r := chi.NewRouter()
	origins, err := a.o.corsOrigin()
	if err != nil {
		return nil, fmt.Errorf("--web.cors-origin: %w", err)
	}
	scripts := allowOrigins(origins)
	queries := r.With(budget.Accounts(a.budget))
	a.graphite.Routes(queries.With(scripts))
	renamed := chi.NewRouter() // Prometheus and Graphite both want /metrics
	a.graphite.Routes(renamed)
	graphiteAPI := budget.Accounts(a.budget)(renamed)
	r.Handle(query.Prefix+"/write", scripts(writes))
	queries.Get(treeStatusPath, trees.status)
	queries.Get(treeTestPath, trees.test)
	queries.Get(treeShowPath, shower.serve)
	if a.o.AdminAPI {
		(&adminAPI{o: a.o, store: a.store, engine: a.db, syncTrees: trees.sync}).mount(r)
	}
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			r.URL.Path = query.Prefix + "/read"
			api.ServeHTTP(w, r)
			return
		}
		reads.ServeHTTP(w, r)
	})
	queries.Handle(query.Prefix+"/read", read)
	queries.Handle(query.Prefix+"/*", api)
	// The paths of Prometheus' old example adapter.
	r.Handle("/write", scripts(writes))
	queries.Handle("/read", read)
	r.Get("/-/healthy", status.healthy)
	r.Head("/-/healthy", status.healthy)
	r.Get("/-/ready", status.isReady)
	r.Head("/-/ready", status.isReady)
	own := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true, Timeout: 10 * time.Second, MaxRequestsInFlight: metricsAtOnce})
	r.Handle("/metrics", scripts(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Query().Has("query"): // Graphite's other name for /metrics/find
			graphiteAPI.ServeHTTP(w, req)
		case req.Method == http.MethodGet || req.Method == http.MethodHead:
			own.ServeHTTP(w, req)
		default:
			w.Header().Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method "+req.Method+" is not allowed here", http.StatusMethodNotAllowed)
		}
	})))
	routeProfiles(r)
	r.Get("/", status.index)
	return r, nil
}
