// Package api answers OpenTSDB's HTTP API but for puts: queries, names, statistics. It reads requests,
// and prints answers and errors as a TSD does; the rooms beside it compute them.
package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Options are what an API needs.
type Options struct {
	Engine  *tsdquery.Engine
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
	Origins *Origins
	// DropCaches forgets the names and series that are known.
	DropCaches func()
	// Statistics tells what others count that statistics show; nil: nothing. Host is this machine in them.
	Statistics func() []Statistic
	Host       string
	Running    *query.Registry
	Logger     *slog.Logger
	Now        func() time.Time
}

// An API answers requests.
type API struct {
	o       Options
	turns   *query.Turns
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
	answer  func(w http.ResponseWriter, r *request) error
}

// New returns an API.
func New(o Options) *API {
	a := &API{o: o, turns: query.NewTurns(o.Concurrency), answers: singleflight.NewReplies(encodedOnce), groups: singleflight.NewReplies[io.WriterTo](nil), count: &counters{}, history: &history{}, begun: o.Now()}
	a.routes = a.endpoints()
	return a
}

// With returns an API with other limits, which shares turns and counters with this one.
func (a *API) With(o Options) *API {
	other := &API{o: o, turns: a.turns, answers: singleflight.NewReplies(encodedOnce), groups: singleflight.NewReplies[io.WriterTo](nil), count: a.count, history: a.history, begun: a.begun}
	other.routes = other.endpoints()
	return other
}

// readWrite returns the methods of endpoints that only answer.
func readWrite() []string { return []string{http.MethodGet, http.MethodPost} }

// everyMethod returns all methods that a TSD knows.
func everyMethod() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}
}

func (a *API) endpoints() map[string]endpoint {
	return map[string]endpoint{
		"query":       {[]string{http.MethodGet, http.MethodPost, http.MethodDelete}, a.query},
		"search":      {readWrite(), a.search},
		"suggest":     {readWrite(), a.suggest},
		"uid":         {everyMethod(), a.uid},
		"aggregators": {readWrite(), a.aggregators},
		"tree":        {nil, a.tree},
		"version":     {readWrite(), a.version},
		"config":      {readWrite(), a.config},
		"stats":       {readWrite(), a.stats},
		"dropcaches":  {readWrite(), a.dropCaches},
		"annotation":  {everyMethod(), a.annotation},
		"annotations": {everyMethod(), a.annotations},
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

var errEndpoint = httpapi.Error{Status: http.StatusNotFound, Message: "Endpoint not found"}

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
			return Path{}, httpapi.Error{
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
	if r.Method != http.MethodGet {
		return r.Method
	}
	parameters, _ := url.ParseQuery(tsdquery.Separated(r.URL.RawQuery)) // a wrong escape is refused before anything is done
	return strings.ToUpper(cmp.Or(parameters.Get("method_override"), r.Method))
}

// methodOf returns Method(r), and refuses an override that is none.
func methodOf(r *http.Request) (string, error) {
	method := Method(r)
	switch overrides := r.URL.Query()["method_override"]; {
	case r.Method != http.MethodGet || overrides == nil:
		return method, nil
	case overrides[0] == "":
		return "", httpapi.Error{Status: http.StatusMethodNotAllowed, Message: "Missing method override value", Allow: everyMethod()}
	}
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method, nil
	}
	return "", httpapi.Error{Status: http.StatusMethodNotAllowed, Message: "Unknown or unsupported method override value", Allow: everyMethod()}
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.count.requests.Add(1)
	r, err := separated(r)
	if err == nil {
		err = a.serve(w, r)
	}
	if err != nil {
		a.count.exceptions.Add(1)
		httpapi.WriteError(w, r, statusOf(err))
	}
}

// find returns the endpoint that a request is for.
func (a *API) find(r *http.Request) (Path, endpoint, error) {
	if first, ok := oldPath(r.URL.Path); ok && a.serves(first) {
		return Path{Rest: []string{first}}, endpoint{[]string{http.MethodGet, http.MethodPost}, a.old}, nil
	}
	path, err := ParsePath(r.URL.Path)
	if err != nil {
		return path, endpoint{}, err
	}
	e, ok := a.routes[path.Endpoint]
	if !ok || !a.serves(path.Endpoint) {
		return path, e, errEndpoint
	}
	return path, e, nil
}

// methodsFor returns the methods of a path: some below an endpoint take fewer than others.
func methodsFor(path Path, e endpoint) []string {
	if len(path.Rest) == 0 {
		return e.methods
	}
	switch what := path.Rest[0]; {
	case path.Endpoint == "uid" && (what == "assign" || what == "rename"):
		return readWrite()
	case strings.HasPrefix(path.Endpoint, "annotation") && strings.HasSuffix(strings.ToLower(what), "bulk"):
		return []string{http.MethodPost, http.MethodPut, http.MethodDelete}
	}
	return e.methods
}

// errPanicked is the answer to a request that met a defect.
var errPanicked = httpapi.Error{Status: http.StatusInternalServerError, Message: "internal error; the log says more"}

// timeout is how long a request may take; 0: as long as its client waits.
func (a *API) timeout(path Path, method string) time.Duration {
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
	method, err := methodOf(r)
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
	return e.answer(w, &request{Request: r.WithContext(ctx), method: method, path: path.Rest})
}
