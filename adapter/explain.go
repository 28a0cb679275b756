package adapter

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tsdbridge/tsdbridge/internal/query"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// explainPath evaluates a query of any language and shows how:
//
//	GET /api/v1/status/explain?lang=promql&query=Q&...        as /api/v1/query and query_range
//	GET /api/v1/status/explain?lang=graphite&target=T&...     as /render
//	GET /api/v1/status/explain?lang=opentsdb&m=M&start=S&...  as /api/query
const explainPath = prom.APIPrefix + "/status/explain"

// explainer explains a query of one language. After an error it returns the status of an answer and a text.
type explainer func(w http.ResponseWriter, r *http.Request) (x *query.Explanation, status int, text string)

// explained answers explainPath. The language is in the URL, of a POST too.
func (g *generation) explained(scripts func(http.Handler) http.Handler) http.Handler {
	others := map[string]http.Handler{
		"graphite": scripts(explainer(g.graphite.Explain)),
		"opentsdb": scripts(explainer(g.opentsdb.Explain)),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		language := r.URL.Query().Get("lang")
		switch other := others[language]; {
		case other != nil:
			other.ServeHTTP(w, r)
		case language == "" || language == "promql":
			g.prometheus.Query().ServeHTTP(w, r)
		default:
			httpapi.BadRequest(w, fmt.Errorf("lang=%s is no language of queries: promql, graphite or opentsdb", strconv.Quote(httpapi.Cut(language, 40))))
		}
	})
}

// ServeHTTP implements http.Handler.
func (e explainer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		httpapi.RefuseMethod(w, r, "GET, HEAD, POST")
		return
	}
	x, status, text := e(w, r)
	if x != nil {
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: x})
		return
	}
	kind := "execution"
	if status == http.StatusBadRequest {
		kind = "bad_data"
	}
	httpapi.JSON(w, status, httpapi.Frame{Status: "error", ErrorType: kind, Error: text})
}
