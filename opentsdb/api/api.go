// Package api answers OpenTSDB's HTTP API but for puts: queries, names, statistics. It reads requests,
// and prints answers and errors as a TSD does; the rooms beside it compute them.
package api

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/running"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/turns"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Options are what an API needs.
type Options struct {
	Engine  *query.Engine
	Names   Names
	Renamer Renamer
	Notes   Notes
	// Trees are shown and edited. Series names series, and Documents describes them.
	Trees     *tree.Editor
	Series    Series
	Documents Documents
	// Metadata are the documents of UIDs and series that are edited, Layout is that of the tables. MaxSeries
	// is how many series one answer may show; 0: no limit.
	Metadata  Metadata
	Layout    schema.Layout
	MaxSeries int
	Version   string
	// Settings are what /api/config shows, by the names of a TSD's configuration file.
	Settings map[string]string
	// Concurrency is how many requests compute at once; Timeout is how long one may take, 0: no limit.
	// EditTimeout is that of requests that may change something: at least what the store may take.
	Concurrency int
	Timeout     time.Duration
	EditTimeout time.Duration
	// AllowEdits lets clients change names, metadata and trees.
	AllowEdits bool
	// SpecialChars are characters that names may have beside a TSD's.
	SpecialChars string
	// Mode is a TSD's: rw, ro or wo.
	Mode string
	// TimeZone is that of dates in queries which name none.
	TimeZone *time.Location
	// Origins are the pages of other origins that may use the API.
	Origins *httpapi.Origins
	// DropCaches forgets the names and series that are known.
	DropCaches func()
	// Statistics tells what others count that statistics show; nil: nothing. Host is this machine in them.
	Statistics func() []httpapi.Statistic
	Host       string
	Running    *running.Registry
	Logger     *slog.Logger
	Now        func() time.Time
}

// An API answers requests.
type API struct {
	o       Options
	turns   *turns.Turns
	answers *singleflight.Replies[io.WriterTo] // of /api, as JSON
	groups  *singleflight.Replies[io.WriterTo] // of /q, which each request shows in its own way
	routes  map[string]endpoint
	count   *counters
	history *history
	begun   time.Time
}

// endpoint is how a path below /api is answered. Without methods it refuses some itself.
type endpoint struct {
	methods []string
	answer  func(w http.ResponseWriter, r *httpapi.Request) error
}

// New returns an API.
func New(o Options) *API {
	a := &API{o: o, turns: turns.New(o.Concurrency), answers: singleflight.NewReplies(encodedOnce), groups: singleflight.NewReplies[io.WriterTo](nil), count: &counters{}, history: &history{}, begun: o.Now()}
	a.routes = a.endpoints()
	return a
}

// With returns an API with other limits, which shares turns and counters with this one.
func (a *API) With(o Options) *API {
	other := &API{o: o, turns: a.turns, answers: singleflight.NewReplies(encodedOnce), groups: singleflight.NewReplies[io.WriterTo](nil), count: a.count, history: a.history, begun: a.begun}
	other.routes = other.endpoints()
	return other
}

func (a *API) endpoints() map[string]endpoint {
	return map[string]endpoint{
		"query":       {[]string{http.MethodGet, http.MethodPost, http.MethodDelete}, a.query},
		"search":      {httpapi.ReadWrite(), a.search},
		"suggest":     {httpapi.ReadWrite(), a.suggest},
		"uid":         {httpapi.EveryMethod(), a.uid},
		"aggregators": {httpapi.ReadWrite(), a.aggregators},
		"tree":        {nil, a.tree},
		"version":     {httpapi.ReadWrite(), a.version},
		"config":      {httpapi.ReadWrite(), a.config},
		"stats":       {httpapi.ReadWrite(), a.stats},
		"dropcaches":  {httpapi.ReadWrite(), a.dropCaches},
		"annotation":  {httpapi.EveryMethod(), a.annotation},
		"annotations": {httpapi.EveryMethod(), a.annotations},
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
func Endpoints() []string { return slices.Sorted(maps.Keys((*API)(nil).endpoints())) }

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.count.requests.Add(1)
	r, err := httpapi.SeparatedRequest(r)
	if err == nil {
		err = a.serve(w, r)
	}
	if err != nil {
		a.count.exceptions.Add(1)
		httpapi.WriteError(w, r, statusOf(err))
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

// errPanicked is the answer to a request that met a defect.
var errPanicked = httpapi.Error{Status: http.StatusInternalServerError, Message: "internal error; the log says more"}

// timeout is how long a request may take; 0: as long as its client waits.
func (a *API) timeout(path httpapi.Path, method string) time.Duration {
	switch {
	case deletesTree(path, method), renames(path):
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
