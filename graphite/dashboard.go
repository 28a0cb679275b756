package graphite

import "net/http"

// Dashboards and templates of graphite-web are not kept here. Its pages, and programs that list them,
// learn that there are none, in its words.

// dashboardRoutes are what graphite-web's own pages ask for at the start.
func (a *api) dashboardRoutes() []route {
	return []route{
		{path: "/dashboard/find", endpoint: "dashboards", answer: noneFound("dashboards"), instant: true},
		{path: "/dashboard/find_template", endpoint: "dashboards", answer: noneFound("templates"), instant: true},
		{path: "/dashboard/load/{name}", endpoint: "dashboards", answer: notThere("Dashboard"), instant: true},
		{path: "/dashboard/load_template/{name}/{value}", endpoint: "dashboards", answer: notThere("Template"), instant: true},
	}
}

// noneFound answers searches for dashboards or templates.
func noneFound(what string) func(*request) (*reply, error) {
	return func(r *request) (*reply, error) {
		if !r.form.has("query") {
			return nil, refuse(http.StatusBadRequest, "Missing required parameter 'query'")
		}
		return r.plainReply(object{{what, []string{}}}), nil
	}
}

// notThere answers requests for one of them.
func notThere(what string) func(*request) (*reply, error) {
	return func(r *request) (*reply, error) {
		return r.plainReply(object{{"error", what + " '" + pathParam(r, "name") + "' does not exist. "}}), nil
	}
}
