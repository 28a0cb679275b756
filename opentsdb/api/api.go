// Package api answers OpenTSDB's HTTP API but for puts: queries, names, statistics. It reads requests,
// and prints answers and errors as a TSD does; the rooms beside it compute them.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/turns"
)

// Options are what an API needs.
type Options struct {
	Engine  *query.Engine
	Names   Names
	Version string
	// Settings are what /api/config shows, by the names of a TSD's configuration file.
	Settings map[string]string
	// Concurrency is how many requests compute at once; Timeout is how long one may take, 0: no limit.
	Concurrency int
	Timeout     time.Duration
	// AllowEdits lets clients change names, metadata and trees, and drop caches.
	AllowEdits bool
	Running    *running.Registry
	Logger     *slog.Logger
	Now        func() time.Time
}

// An API answers requests.
type API struct {
	o      Options
	turns  *turns.Turns
	routes map[string]endpoint
}

// endpoint is how a path below /api is answered.
type endpoint struct {
	methods []string
	answer  func(w http.ResponseWriter, r *request) error
}

// New returns an API.
func New(o Options) *API {
	a := &API{o: o, turns: turns.New(o.Concurrency)}
	a.routes = a.endpoints()
	return a
}

func (a *API) endpoints() map[string]endpoint {
	readWrite := []string{http.MethodGet, http.MethodPost}
	return map[string]endpoint{
		"query":       {[]string{http.MethodGet, http.MethodPost, http.MethodDelete}, a.query},
		"search":      {readWrite, a.search},
		"suggest":     {readWrite, a.suggest},
		"uid":         {[]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, a.uid},
		"aggregators": {readWrite, a.aggregators},
		"version":     {readWrite, a.version},
		"config":      {readWrite, a.config},
	}
}

// Endpoints lists what an API answers, each as the first element of a path below /api.
func Endpoints() []string { return slices.Sorted(maps.Keys((*API)(nil).endpoints())) }

// A request is an HTTP request for an endpoint. Path is what follows the endpoint.
type request struct {
	*http.Request
	method string
	path   []string
}

// Path is where a request goes: /api[/v1]/endpoint/rest. Endpoints are named in any case.
type Path struct {
	Endpoint string
	Rest     []string
}

var errEndpoint = reply.Error{Status: http.StatusNotFound, Message: "Endpoint not found"}

// maxVersion is that of the API; see /api/v1/put.
const maxVersion = 1

// ParsePath splits a path as OpenTSDB's HttpQuery.getQueryBaseRoute does.
func ParsePath(path string) (Path, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || !strings.EqualFold(parts[0], "api") {
		return Path{}, errEndpoint
	}
	parts = parts[1:]
	digits, versioned := strings.CutPrefix(strings.ToLower(parts[0]), "v")
	if version, err := strconv.Atoi(digits); versioned && err == nil {
		if version > maxVersion {
			return Path{}, reply.Error{
				Status: http.StatusNotImplemented, Message: "Requested API version is greater than the max implemented",
				Details: fmt.Sprintf("API version [%d] is greater than the max [%d]", version, maxVersion),
			}
		}
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return Path{}, errEndpoint
	}
	return Path{strings.ToLower(parts[0]), parts[1:]}, nil
}

// Method returns the method that a request means: clients that can only GET set another one by
// method_override. Whoever changes something must not trust a GET from another origin.
func Method(r *http.Request) string {
	if override := r.URL.Query().Get("method_override"); r.Method == http.MethodGet && override != "" {
		return strings.ToUpper(override)
	}
	return r.Method
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.serve(w, r); err != nil {
		reply.WriteError(w, r, statusOf(err))
	}
}

// find returns the endpoint that a request is for.
func (a *API) find(r *http.Request) (Path, endpoint, error) {
	if first, ok := oldPath(r.URL.Path); ok {
		return Path{Rest: []string{first}}, endpoint{[]string{http.MethodGet, http.MethodPost}, a.old}, nil
	}
	path, err := ParsePath(r.URL.Path)
	if err != nil {
		return path, endpoint{}, err
	}
	e, ok := a.routes[path.Endpoint]
	if !ok {
		return path, e, errEndpoint
	}
	return path, e, nil
}

func notAllowed(method string) error {
	return reply.Error{
		Status: http.StatusMethodNotAllowed, Message: "Method not allowed",
		Details: "The HTTP method [" + method + "] is not permitted for this endpoint",
	}
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) (err error) {
	path, e, err := a.find(r)
	if err != nil {
		return err
	}
	method := Method(r)
	if !slices.Contains(e.methods, method) {
		return notAllowed(method)
	}
	ctx := r.Context()
	if a.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.o.Timeout)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			a.o.Logger.Error("opentsdb request panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("internal error; the log says more")
		}
	}()
	return e.answer(w, &request{Request: r.WithContext(ctx), method: method, path: path.Rest})
}
