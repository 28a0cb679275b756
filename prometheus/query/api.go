// Package query serves Prometheus' query API over a store: PromQL, lists of labels and series,
// metadata and status. It writes nothing.
package query

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
)

// Prefix is the path that the API is mounted under.
const Prefix = "/api/v1"

// The paths of queries.
const (
	queryPath = Prefix + "/query"
	rangePath = Prefix + "/query_range"
)

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

	engine *engine.Engine
	json   *resultWriter

	federationErrors prometheus.Counter
	nativeSamples    *prometheus.CounterVec
	description      func() *v1.OpenAPIBuilder
}

// New returns the query API.
func New(o Options) *API {
	gate := newQueryGate(o.Concurrency)
	a := &API{o: o, gate: gate, lists: newAPITurns(o.Timeout), engine: engine.New(o.engine(gate)), json: newResultWriter(), federationErrors: newFederationErrors(o.Registerer), nativeSamples: newNativeSamples(o.Registerer), description: descriptions(o.Logger)}
	a.assemble()
	return a
}

// With returns an API with other limits, which shares turns, metrics and kept answers with this one. A
// query that began with this one ends with it.
func (a *API) With(o Options) *API {
	other := *a
	other.o, other.lists.timeout = o, o.Timeout
	other.engine = a.engine.With(o.limits())
	other.assemble()
	return &other
}

// assemble makes the handlers of an API that has its engine.
func (a *API) assemble() {
	registry := a.engine.Features()
	a.o.tell(registry)
	router := route.New()
	newModuleAPI(a.o, a.engine, registry).Register(router)
	a.own = a.ownHandlers()
	a.queries = &queriesHandler{a.o.Running, a.o.Admin, time.Now}
	a.module = http.StripPrefix(Prefix, router)
}

// ownHandlers returns the handlers of paths that the module does not serve as we need them.
func (a *API) ownHandlers() map[string]http.Handler {
	o := a.o
	explain := &explainHandler{engine: a.engine, queryable: o.Queryable, now: time.Now}
	own := map[string]http.Handler{
		queryPath:                 &evaluateHandler{cors: o.Origins, engine: a.engine, json: a.json, now: time.Now},
		rangePath:                 &evaluateHandler{cors: o.Origins, engine: a.engine, json: a.json, now: time.Now, ranges: true},
		Prefix + "/openapi.yaml":  &descriptionHandler{a.description, o.Origins},
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

// refusedMethod reports whether a request for an evaluation has a method that the module's router
// refuses; the router answers it.
func refusedMethod(r *http.Request) bool {
	evaluated := r.URL.Path == queryPath || r.URL.Path == rangePath
	return evaluated && r.Method != http.MethodGet && r.Method != http.MethodPost
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
		ctx, q := a.o.Running.Begin(r.Context(), query.Description{Language: "promql", Text: r.Form.Get("query"), Client: r.RemoteAddr})
		defer q.End()
		r = r.WithContext(ctx)
	}
	if h := a.own[r.URL.Path]; h != nil && r.Method != http.MethodOptions && !refusedMethod(r) {
		h.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == Prefix+deletePath {
		sameOrigin(whole(a.module, a.engine.Parser())).ServeHTTP(w, r)
		return
	}
	a.module.ServeHTTP(w, r)
}
