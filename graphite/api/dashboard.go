package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// Dashboards and templates of graphite-web are not kept here. Its pages, and programs that list them,
// learn that there are none, in its words.

// dashboardRoutes are what graphite-web's own pages ask for at the start.
func (a *API) dashboardRoutes() []route {
	return []route{
		{path: "/dashboard/find", endpoint: "dashboards", answer: noneFound("dashboards"), instant: true},
		{path: "/dashboard/find_template", endpoint: "dashboards", answer: noneFound("templates"), instant: true},
		{path: "/dashboard/load/{name}", endpoint: "dashboards", answer: notThere("Dashboard"), instant: true},
		{path: "/dashboard/load_template/{name}/{value}", endpoint: "dashboards", answer: notThere("Template"), instant: true},
	}
}

// noneFound answers searches for dashboards or templates.
func noneFound(what string) func(*exchange.Request) (*exchange.Reply, error) {
	return func(r *exchange.Request) (*exchange.Reply, error) {
		if !r.Params.Has("query") {
			return nil, exchange.Refuse(http.StatusBadRequest, "Missing required parameter 'query'")
		}
		return r.PlainReply(pyjson.Object{{Key: what, Value: []string{}}}), nil
	}
}

// notThere answers requests for one of them.
func notThere(what string) func(*exchange.Request) (*exchange.Reply, error) {
	return func(r *exchange.Request) (*exchange.Reply, error) {
		return r.PlainReply(pyjson.Object{{Key: "error", Value: what + " '" + exchange.PathParam(r, "name") + "' does not exist. "}}), nil
	}
}
