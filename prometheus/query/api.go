// Package query serves Prometheus' query API over a store: PromQL, lists of labels and series,
// metadata and status. It writes nothing.
package query

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/internal/running"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// Prefix is the path that the API is mounted under.
const Prefix = "/api/v1"

// API serves everything below Prefix except remote write and remote read. It is the API and the
// engine of the Prometheus module over our store, with our own metadata: the module knows metadata
// from scrape targets only.
type API struct {
	o     Options
	gate  *queryGate
	lists apiTurns
	own   map[string]http.Handler // by path, for what the module does not answer
	// queries lists and ends queries.
	queries *queriesHandler
	module  http.Handler

	parser parser.Parser
	engine *rangeql.Engine
	// fresh evaluates as engine does, with the lookbacks of the series' rules. No answer of it is kept.
	fresh promql.QueryEngine

	features         features.Collector // what the engine has, and what is served
	federationErrors prometheus.Counter
	nativeSamples    *prometheus.CounterVec
	cache            *resultcache.Engine // over engine; nil: no answers are kept
	description      func() *v1.OpenAPIBuilder
}

// New returns the query API.
func New(o Options) *API {
	a := &API{o: o, gate: newQueryGate(o.Concurrency), lists: newAPITurns(o.Timeout), parser: o.Parser(), federationErrors: newFederationErrors(o.Registerer), nativeSamples: newNativeSamples(o.Registerer), description: descriptions(o.Logger)}
	registry := features.NewRegistry()
	a.engine = newEngine(o, newLibrary(o, a.gate, a.parser, registry))
	a.cache = newCache(a.engine, o, a.parser)
	a.assemble(registry)
	return a
}

// With returns an API with other limits, which shares turns, metrics and kept answers with this one. A
// query that began with this one ends with it.
func (a *API) With(o Options) *API {
	other := &API{o: o, gate: a.gate, lists: apiTurns{a.lists.turns, o.Timeout}, parser: a.parser, engine: a.engine, cache: a.cache, federationErrors: a.federationErrors, nativeSamples: a.nativeSamples, description: a.description}
	registry := a.features
	if a.o.Samples != o.Samples || a.o.Timeout != o.Timeout || a.o.defaultStep() != o.defaultStep() {
		replaced := o
		replaced.Registerer = replacing{o.Registerer}
		registry = features.NewRegistry()
		other.engine = a.engine.With(newLibrary(replaced, a.gate, a.parser, registry), o.Samples, o.Timeout, o.defaultStep())
	}
	if a.cache != nil {
		other.cache = a.cache.With(other.engine, o.defaultStep())
	}
	other.assemble(registry)
	return other
}

// assemble makes the handlers of an API that has its engine.
func (a *API) assemble(registry features.Collector) {
	a.features = registry
	a.o.tell(registry)
	router := route.New()
	a.fresh = a.lookbacks(a.engine)
	var engine promql.QueryEngine = newSharedEngine(a.fresh, a.o)
	if a.cache != nil {
		engine = keptEngine{newSharedEngine(a.lookbacks(a.cache), a.o)}
	}
	newModuleAPI(a.o, encodedEngine{engine}, distinctParser{a.parser}, registry).Register(router)
	a.own = ownHandlers(a.o, a.fresh)
	a.own[Prefix+"/openapi.yaml"] = &descriptionHandler{a.description, a.o.Origins}
	a.queries = &queriesHandler{a.o.Running, a.o.Admin, time.Now}
	a.module = http.StripPrefix(Prefix, asAsked(withAsked(withLookbacks(tracesEncoding(sendsKept(router))))))
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

// ownHandlers returns the handlers of paths that the module does not serve as we need them.
func ownHandlers(o Options, engine promql.QueryEngine) map[string]http.Handler {
	explain := &explainHandler{engine: engine, queryable: o.Queryable, now: time.Now}
	own := map[string]http.Handler{
		Prefix + "/metadata":      &metadataHandler{metadata: o.Metadata, names: o.Names, cors: o.Origins},
		explainPath:               withLookbacks(explain),
		selectedPath:              &selectedHandler{o.Queryable},
		Prefix + "/status/config": &configHandler{yaml: o.Config, cors: o.Origins},
	}
	if o.Planner != nil {
		explain.plans = &planHandler{queryable: o.Queryable, planner: o.Planner, now: time.Now}
		own[Prefix+"/status/plan"] = explain.plans
	}
	if o.Catalog != nil {
		own[Prefix+"/status/tsdb"] = &tsdbStatusHandler{store: o.Catalog, names: o.Names, cors: o.Origins}
	}
	for path, text := range notServed(o.Admin) {
		own[Prefix+path] = notFoundHandler(text)
	}
	return own
}

// ServeHTTP makes a request wait for its turn. An ordinary query begins without a turn and gets one
// from the engine's gate.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.queries.serves(r.URL.Path) && r.Method != http.MethodOptions {
		a.queries.ServeHTTP(w, r)
		return
	}
	if ordinary(r) {
		a.answer(w, r.WithContext(a.gate.admit(r.Context())))
		return
	}
	a.lists.serve(w, r, http.HandlerFunc(a.answer))
}

// answer serves a request whose text is within its bounds.
func (a *API) answer(w http.ResponseWriter, r *http.Request) {
	r, cancel, err := a.o.bounded(w, r)
	defer cancel()
	if err != nil {
		httpapi.APIError(w, err)
		return
	}
	if evaluates(r.URL.Path) {
		ctx, q := a.o.Running.Begin(r.Context(), running.Description{Language: "promql", Text: r.Form.Get("query"), Client: r.RemoteAddr})
		defer q.End()
		r = r.WithContext(ctx)
	}
	if h := a.own[r.URL.Path]; h != nil && r.Method != http.MethodOptions {
		h.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == Prefix+deletePath {
		sameOrigin(whole(a.module, a.parser)).ServeHTTP(w, r)
		return
	}
	a.module.ServeHTTP(w, r)
}

// asAsked leaves queries that ask for statistics to Prometheus' engine, which is the one that counts,
// and evaluates those as a whole that want nothing that is kept.
func asAsked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("stats") != "" {
			r = r.WithContext(resultcache.Without(rangeql.WithStats(r.Context())))
		}
		// The module cuts a matrix to a limit, and an answer that is kept is text.
		if r.FormValue("nocache") == "1" || r.FormValue("limit") != "" {
			r = r.WithContext(resultcache.Without(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}
