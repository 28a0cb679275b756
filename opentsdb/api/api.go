// Package api answers OpenTSDB's HTTP API but for puts: it finds the endpoint of a request, limits its time
// and prints its errors as a TSD does. The packages below it answer queries, and what is asked of trees,
// UIDs and annotations; it answers itself what is asked of names and of the process.
package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/annotations"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/queries"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/trees"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/uids"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// Options are what an API needs.
type Options struct {
	Queries     queries.Options
	UIDs        uids.Options
	Trees       trees.Options
	Annotations annotations.Options
	Names       Names
	Version     string
	// Settings are what /api/config shows, by the names of a TSD's configuration file.
	Settings map[string]string
	// Concurrency is how many requests compute at once; Timeout is how long one may take, 0: no limit.
	// EditTimeout is that of requests that may change something: at least what the store may take.
	Concurrency int
	Timeout     time.Duration
	EditTimeout time.Duration
	Edits       httpapi.Edits
	// Mode is a TSD's: rw, ro or wo.
	Mode string
	// DropCaches forgets the names and series that are known.
	DropCaches func()
	// Statistics returns what others count that statistics show; nil: nothing. Host is this machine in them.
	Statistics func() []httpapi.Statistic
	Host       string
	Running    *query.Registry
	Logger     *slog.Logger
	Now        func() time.Time
}

// An API answers requests.
type API struct {
	o       Options
	kept    *kept
	routes  map[string]endpoint
	queries *queries.API

	uids        *uids.API
	trees       *trees.API
	annotations *annotations.API
}

// kept is what an API with other limits shares.
type kept struct {
	evaluator            *evaluation.Evaluator
	requests, exceptions atomic.Int64
	begun                time.Time
}

// endpoint is how a path below /api is answered. Without methods it refuses some itself.
type endpoint struct {
	methods []string
	answer  func(w http.ResponseWriter, r *httpapi.Request) error
}

// New returns an API.
func New(o Options) *API {
	return newAPI(o, &kept{evaluator: evaluation.New(o.Concurrency, o.Running), begun: o.Now()})
}

// With returns an API with other limits, which shares turns and counters with this one.
func (a *API) With(o Options) *API { return newAPI(o, a.kept) }

func newAPI(o Options, k *kept) *API {
	a := &API{
		o: o, kept: k, queries: queries.New(o.Queries, o.Edits.Origins, k.evaluator),
		uids: uids.New(o.UIDs, o.Edits, k.evaluator), trees: trees.New(o.Trees, o.Edits, k.evaluator), annotations: annotations.New(o.Annotations, o.Edits, k.evaluator),
	}
	a.routes = a.endpoints()
	return a
}

func (a *API) endpoints() map[string]endpoint {
	return map[string]endpoint{
		"query":       {[]string{http.MethodGet, http.MethodPost, http.MethodDelete}, a.queries.Serve},
		"search":      {httpapi.ReadWrite(), a.search},
		"suggest":     {httpapi.ReadWrite(), a.suggest},
		"uid":         {httpapi.EveryMethod(), a.uids.Serve},
		"aggregators": {httpapi.ReadWrite(), a.aggregators},
		"tree":        {nil, a.trees.Serve},
		"version":     {httpapi.ReadWrite(), a.version},
		"config":      {httpapi.ReadWrite(), a.config},
		"stats":       {httpapi.ReadWrite(), a.stats},
		"dropcaches":  {httpapi.ReadWrite(), a.dropCaches},
		"annotation":  {httpapi.EveryMethod(), a.annotations.ServeOne},
		"annotations": {httpapi.EveryMethod(), a.annotations.ServeAll},
	}
}

// serves reports whether an endpoint is served in the mode of the API: those that write are not in ro, and
// those that read are not in wo.
func (a *API) serves(endpoint string) bool {
	switch a.o.Mode {
	case "ro":
		return !slices.Contains([]string{"annotation", "annotations", "rollup", "histogram", "tree", "uid"}, endpoint)
	case "wo":
		return !slices.Contains([]string{"query", "search", "suggest", "q"}, endpoint)
	}
	return true
}

// Endpoints lists what an API answers, each as the first element of a path below /api.
func Endpoints() []string { return slices.Sorted(maps.Keys(new(API).endpoints())) }

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.kept.requests.Add(1)
	r, err := httpapi.SeparatedRequest(r)
	if err == nil {
		err = a.serve(w, r)
	}
	if err != nil {
		a.kept.exceptions.Add(1)
		httpapi.WriteError(w, r, evaluation.StatusOf(err))
	}
}

// find returns the endpoint that a request is for.
func (a *API) find(r *http.Request) (httpapi.Path, endpoint, error) {
	if first, ok := oldPath(r.URL.Path); ok && a.serves(first) {
		return httpapi.Path{Rest: []string{first}}, endpoint{[]string{http.MethodGet, http.MethodPost}, a.old}, nil
	}
	path, err := httpapi.ParsePath(r.URL.Path)
	if err != nil {
		return path, endpoint{}, err
	}
	e, ok := a.routes[path.Endpoint]
	if !ok || !a.serves(path.Endpoint) {
		return path, e, httpapi.ErrEndpoint
	}
	return path, e, nil
}

// methodsFor returns the methods of a path: some below an endpoint take fewer than others.
func methodsFor(path httpapi.Path, e endpoint) []string {
	if len(path.Rest) == 0 {
		return e.methods
	}
	switch what := path.Rest[0]; {
	case path.Endpoint == "uid" && (what == "assign" || what == "rename"):
		return httpapi.ReadWrite()
	case strings.HasPrefix(path.Endpoint, "annotation") && strings.HasSuffix(strings.ToLower(what), "bulk"):
		return []string{http.MethodPost, http.MethodPut, http.MethodDelete}
	}
	return e.methods
}

// Explain computes the answer to a request with the parameters of GET /api/query, within the limits of that, and
// returns how that was done. After an error it returns the status of an answer and a text.
func (a *API) Explain(w http.ResponseWriter, r *http.Request) (x *query.Explanation, status int, text string) {
	if !a.serves("query") {
		return nil, httpapi.ErrEndpoint.Status, httpapi.ErrEndpoint.Message
	}
	return a.queries.Explain(w, r)
}

// Latest computes a query within the limits of /api/query and returns the last point of each group that
// has one in the window. What it takes is in the account of ctx.
func (a *API) Latest(ctx context.Context, q queries.LatestQuery) ([]queries.LatestPoint, error) {
	if !a.serves("query") {
		return nil, httpapi.ErrEndpoint
	}
	return a.queries.Latest(ctx, q)
}

// errPanicked is the answer to a request that met a defect.
var errPanicked = httpapi.Error{Status: http.StatusInternalServerError, Message: "internal error; the log says more"}

// timeout is how long a request may take; 0: as long as its client waits.
func (a *API) timeout(path httpapi.Path, method string) time.Duration {
	switch {
	case trees.Deletes(path, method), uids.Renames(path):
		return 0
	case slices.Contains([]string{"annotation", "annotations", "tree", "uid"}, path.Endpoint),
		path.Endpoint == "query" && method == http.MethodDelete:
		return a.o.EditTimeout
	}
	return a.o.Timeout
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) (err error) {
	path, e, err := a.find(r)
	if err != nil {
		return err
	}
	method, err := httpapi.MethodOf(r)
	if err != nil {
		return err
	}
	if e.methods != nil && !slices.Contains(e.methods, method) {
		return httpapi.NotAllowed(method, methodsFor(path, e)...)
	}
	ctx := r.Context()
	if limit := a.timeout(path, method); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			a.o.Logger.Error("opentsdb request panicked; report this defect with the stack", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	return e.answer(w, &httpapi.Request{Request: r.WithContext(ctx), Verb: method, Rest: path.Rest})
}
