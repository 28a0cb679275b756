package query

import (
	"net/http"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// queriesPath lists the queries that are being answered. Below it is a path for each, by its id.
const queriesPath = Prefix + "/status/queries"

// slowPath lists the queries of late that took longer than --query.slow-after.
const slowPath = Prefix + "/status/slow_queries"

// queriesHandler serves the list of the queries that are being answered, of all query languages. It
// ends a query by its id, if the admin API is enabled. It needs no turn: it is asked when others
// hold all of them.
type queriesHandler struct {
	running *query.Registry
	admin   bool
	now     func() time.Time
}

// runningQuery is a query in an answer.
type runningQuery struct {
	ID       string    `json:"id"`
	Language string    `json:"language"`
	Query    string    `json:"query"`
	Client   string    `json:"client,omitempty"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Memory   int64     `json:"memoryBytes"`
	Samples  int64     `json:"samples"`
	Rows     int64     `json:"rows"` // read from the tables and from memory
	Cells    int64     `json:"cells"`
	Bytes    int64     `json:"bytes"`

	Ways []query.WayCounts `json:"ways"`
}

// mostShown is how much of the text of a query is shown, in bytes.
const mostShown = 4 << 10

func (h *queriesHandler) describe(s query.State) runningQuery {
	read := query.SumWays(s.Ways)
	return runningQuery{
		ID: s.ID, Language: s.Language, Query: httpapi.Cut(s.Text, mostShown), Client: s.Client, Started: s.Started.UTC(),
		Seconds: h.now().Sub(s.Started).Seconds(), Memory: s.Memory, Samples: s.Samples,
		Rows: read.Rows, Cells: read.Cells, Bytes: read.Bytes, Ways: s.Ways,
	}
}

// serves reports whether the handler serves a path.
func (h *queriesHandler) serves(path string) bool {
	return path == queriesPath || path == slowPath || strings.HasPrefix(path, queriesPath+"/")
}

// ServeHTTP answers with the list, or ends a query. Scripts of other origins cannot end queries.
func (h *queriesHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, one := strings.CutPrefix(r.URL.Path, queriesPath+"/")
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	end := r.Method == http.MethodDelete || r.Method == http.MethodPost
	switch {
	case r.URL.Path == slowPath && get:
		h.listSlow(w)
	case !one && get:
		h.list(w)
	case one && end:
		http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { h.end(w, id) })).ServeHTTP(w, r)
	default:
		httpapi.RefuseMethod(w, r, map[bool]string{false: "GET, HEAD", true: "DELETE, POST"}[one])
	}
}

func (h *queriesHandler) list(w http.ResponseWriter) {
	list := []runningQuery{}
	for _, s := range h.running.List() {
		list = append(list, h.describe(s))
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: list})
}

// slowQuery is a query in the list of slow ones. Memory is the most that it held.
type slowQuery struct {
	runningQuery

	Failed string      `json:"failed,omitempty"`
	Plan   *query.Node `json:"plan,omitempty"`
}

func (h *queriesHandler) listSlow(w http.ResponseWriter) {
	list := []slowQuery{}
	for _, s := range h.running.Slow() {
		q := slowQuery{h.describe(s.State), s.Failed, s.Plan}
		q.Seconds = s.Took.Seconds()
		list = append(list, q)
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: list})
}

func (h *queriesHandler) end(w http.ResponseWriter, id string) {
	if !h.admin {
		httpapi.JSON(w, http.StatusForbidden, httpapi.Frame{Status: "error", ErrorType: "forbidden", Error: "queries are ended by their id with --web.enable-admin-api only"})
		return
	}
	s, ok := h.running.Cancel(id)
	if !ok {
		httpapi.JSON(w, http.StatusNotFound, httpapi.Frame{Status: "error", ErrorType: "not_found", Error: "no query with the id " + httpapi.Cut(id, 40) + " is being answered"})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: h.describe(s)})
}
