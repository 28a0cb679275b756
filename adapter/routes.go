package adapter

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/backups"
	"github.com/tsdbridge/tsdbridge/adapter/status"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/adapter/webport"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/web"
)

// Ready returns what prevents the adapter from serving, nil if nothing does.
func (a *Adapter) Ready(ctx context.Context) error {
	if err := a.store.Ready(ctx); err != nil {
		return err
	}
	return a.trees.Ready()
}

// metricsAtOnce is how many scrapes are served at once. Each takes some milliseconds of a core.
const metricsAtOnce = 8

// mount makes the handlers of HTTP requests of a generation.
func (a *Adapter) mount(g *generation) (err error) {
	g.routes, err = a.routes(g)
	g.writes = webport.AnsweredBy("remote write")(g.prometheus.Write())
	return err
}

// routes returns the handler of all HTTP requests.
func (a *Adapter) routes(g *generation) (http.Handler, error) {
	shown := &trees.API{Printer: treePrinter(a.trees.Forest(), a.store, a.names, a.db, a.o.TableTree), Follower: a.trees.Follower()}
	if a.status == nil { // all generations have one, with its metrics
		a.status = &status.Probe{Ready: a.Ready, Describe: a.describe, Engine: a.o.EngineName()}
		a.registerState(a.status)
	}
	r := chi.NewRouter()
	r.MethodNotAllowed(notAllowed(r))
	origins, err := g.o.corsOrigin()
	if err != nil {
		return nil, err
	}
	scripts := httpapi.AllowOrigins(origins)
	queries := r.With(query.Accounts(a.budget))
	g.graphite.Routes(queries.With(scripts, webport.AnsweredBy("graphite")))
	renamed := chi.NewRouter() // Prometheus and Graphite both want /metrics
	g.graphite.Routes(renamed.With(webport.AnsweredBy("graphite")))
	graphiteAPI := query.Accounts(a.budget)(renamed)
	g.prometheus.Routes(r.With(webport.AnsweredBy("prometheus")))
	g.opentsdb.WebRoutes(r.With(scripts, webport.AnsweredBy("opentsdb")))
	queries.Handle(explainPath, g.explained(scripts))
	shown.Routes(queries)
	pages := &status.Pages{Store: a.store, Names: a.names, Refused: a.refused, Log: a.log, Now: a.o.Now, Engine: status.Engine{
		Name: a.o.Engine, DB: a.db, Path: a.o.Path, CacheBytes: a.o.CacheBytes, ZooKeeper: a.o.ZooKeeper, Root: a.o.HBaseRoot,
	}}
	pages.Routes(r, queries)
	r.Get(admin.TransfersPath, a.transfers.Serve)
	record := a.o.Backups()
	if a.o.Engine == tables.EngineEmbedded {
		r.Get(backups.Path, backups.Page(&record))
	} else {
		r.Get(backups.Path, backups.Page(nil))
	}
	if a.o.AdminAPI {
		if a.admin == nil { // it holds what its operations share
			a.admin = a.adminAPI(shown.Sync)
		}
		a.admin.Mount(r.With(webport.AnsweredBy("admin")))
	}
	reload := http.NewCrossOriginProtection().Handler(http.HandlerFunc(a.reloader.serve))
	r.Method(http.MethodPost, ReloadPath, reload)
	r.Method(http.MethodPut, ReloadPath, reload)
	a.status.Routes(r)
	own := promhttp.HandlerFor(a.gatherer(), promhttp.HandlerOpts{EnableOpenMetrics: true, Timeout: 10 * time.Second, MaxRequestsInFlight: metricsAtOnce})
	r.Handle("/metrics", scripts(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Query().Has("query"): // Graphite's other name for /metrics/find
			graphiteAPI.ServeHTTP(w, req)
		case req.Method == http.MethodGet || req.Method == http.MethodHead:
			own.ServeHTTP(w, req)
		default:
			netserver.RefuseMethod(w, req, "GET, HEAD, OPTIONS")
		}
	})))
	webport.RouteProfiles(r, func() []string { return withoutSecrets(os.Args, a.Flags()) })
	web.Page{Version: Version(), Admin: a.o.AdminAPI, Edits: a.o.AdminAPI && g.o.OpenTSDB.AllowEdits}.Routes(r)
	return r, nil
}

// notAllowed refuses a method, and names those that the routes have for the path.
func notAllowed(routes chi.Routes) http.HandlerFunc {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath
		if path == "" {
			path = r.URL.Path
		}
		var allowed []string
		for _, method := range methods {
			if routes.Match(chi.NewRouteContext(), method, path) {
				allowed = append(allowed, method)
			}
		}
		netserver.RefuseMethod(w, r, strings.Join(allowed, ", "))
	}
}
