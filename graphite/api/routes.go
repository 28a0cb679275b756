package api

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
)

// Routes mounts the API where graphite-web has it. A slash at the end makes no difference.
func (a *API) Routes(r chi.Router) {
	for _, route := range a.endpoints() {
		h := a.serve(route)
		r.Handle(route.path, h)
		if !route.exact {
			r.Handle(route.path+"/", h)
		}
	}
}

// A route is an endpoint and where it is.
type route struct {
	path, endpoint string // endpoint is the metrics' label
	answer         func(*exchange.Request) (*exchange.Reply, error)
	methods        []string // nil: all
	jsonErrors     bool     // errors are {"error": "..."}
	instant        bool     // needs no slot
	exact          bool     // no slash at the end
	changes        bool     // methods that may change something are not for pages of other origins
	bodyBytes      int      // the body is not a form, and may have so many bytes
}

func (r *route) allows(method string) bool {
	return r.methods == nil || slices.Contains(r.methods, method)
}

func (a *API) endpoints() []route {
	get := []string{http.MethodGet, http.MethodHead}
	post := []string{http.MethodPost}
	both := append(slices.Clone(get), http.MethodPost)
	root := both // of other methods graphite-web answers with search results
	if a.o.AllowDelete && a.o.Deleter != nil {
		root = append(slices.Clone(both), http.MethodDelete)
	}
	return append(slices.Concat(a.eventRoutes(), a.dashboardRoutes()), []route{
		{path: "/render", endpoint: "render", answer: a.renderer.render},
		{path: "/metrics", endpoint: "find", answer: a.metricsRoot, methods: root},
		{path: "/metrics/find", endpoint: "find", answer: a.finder.find},
		{path: "/metrics/expand", endpoint: "expand", answer: a.finder.expand},
		{path: "/metrics/get-metadata", endpoint: "metadata", answer: a.metadata, methods: both, instant: true},
		{path: "/metrics/set-metadata", endpoint: "metadata", answer: a.setMetadata, methods: get, instant: true},
		{path: "/metrics/index.json", endpoint: "index", answer: a.finder.index},
		{path: "/tags", endpoint: "tags", answer: a.tags.listTags, methods: get, jsonErrors: true},
		{path: "/tags/*", endpoint: "tag", answer: a.tags.showTag, methods: get, jsonErrors: true, exact: true},
		{path: "/tags/findSeries", endpoint: "find_series", answer: a.tags.findSeries, methods: both, jsonErrors: true},
		{path: "/tags/autoComplete/tags", endpoint: "complete_tags", answer: a.tags.completeTags, methods: both, jsonErrors: true},
		{path: "/tags/autoComplete/values", endpoint: "complete_values", answer: a.tags.completeValues, methods: both, jsonErrors: true},
		{path: "/tags/tagSeries", endpoint: "tag_series", answer: a.tags.tagSeries, methods: post, changes: true, jsonErrors: true},
		{path: "/tags/tagMultiSeries", endpoint: "tag_series", answer: a.tags.tagMultiSeries, methods: post, changes: true, jsonErrors: true},
		{path: "/tags/delSeries", endpoint: "del_series", answer: a.remover.delSeries, methods: post, changes: true, jsonErrors: true},
		{path: "/functions", endpoint: "functions", answer: a.listFunctions, methods: get, jsonErrors: true, instant: true},
		{path: "/functions/{name}", endpoint: "functions", answer: a.showFunction, methods: get, jsonErrors: true, instant: true},
		{path: "/info", endpoint: "info", answer: a.info, methods: both},
		{path: "/_internal/capabilities", endpoint: "capabilities", answer: a.capabilities, instant: true},
		{path: "/version", endpoint: "version", answer: a.version, instant: true},
	}...)
}
