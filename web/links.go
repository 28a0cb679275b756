package web

import (
	"net/http"
	"net/url"
	"strings"
)

// QueryURL returns the address of the page with a query in a language (promql, graphite, opentsdb), below the
// external URL of the server.
func QueryURL(external, language, query string) string {
	return strings.TrimRight(external, "/") + "/" + explore(language, query, "table", "")
}

// explore is the part of the page's address from # on.
func explore(language, query, view, from string) string {
	p := url.Values{"l0": {language}, "q0": {query}}
	if view != "" {
		p.Set("v0", view)
	}
	if from != "" {
		p.Set("from", from)
		p.Set("to", "now")
	}
	return "#/explore?" + p.Encode()
}

// graphPath is where a Prometheus shows a query. Templates of alerts make links to it.
const graphPath = "/graph"

// showGraph sends who comes to Prometheus' address of a query to the page.
func showGraph(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Query()
	view, from := "", ""
	if tab := p.Get("g0.tab"); tab == "1" || tab == "table" {
		view = "table"
	}
	if back := p.Get("g0.range_input"); back != "" {
		from = "now-" + back
	}
	w.Header().Set("Location", "./"+explore("promql", p.Get("g0.expr"), view, from))
	w.WriteHeader(http.StatusFound)
}
