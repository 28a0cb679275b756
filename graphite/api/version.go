package api

import (
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// webVersion is the graphite-web whose answers these are: Grafana chooses by it what to ask for.
const webVersion = "1.1.10"

// version answers /version.
func (a *API) version(*exchange.Request) (*exchange.Reply, error) {
	return &exchange.Reply{ContentType: "text/html; charset=utf-8", Write: func(j *pyjson.Writer) { j.Text(webVersion + "\n") }}, nil
}
