package api

import (
	"net/http"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
)

// aggregators answers /api/aggregators.
func (a *API) aggregators(w http.ResponseWriter, r *request) error {
	reply.WriteJSON(w, r.Request, http.StatusOK, aggregate.Names())
	return nil
}

// version answers /api/version with the keys of a TSD's build.
func (a *API) version(w http.ResponseWriter, r *request) error {
	reply.WriteJSON(w, r.Request, http.StatusOK, map[string]string{
		"version": a.o.Version, "short_revision": a.o.Version, "full_revision": a.o.Version, "timestamp": strconv.FormatInt(a.o.Now().Unix(), 10),
		"repo_status": "MINT", "user": "tsdbridge", "host": "", "repo": "github.com/tsdbridge/tsdbridge", "branch": "main",
	})
	return nil
}

// config answers /api/config and /api/config/filters.
func (a *API) config(w http.ResponseWriter, r *request) error {
	if len(r.path) > 0 && r.path[0] == "filters" {
		reply.WriteJSON(w, r.Request, http.StatusOK, query.FilterTypes())
		return nil
	}
	reply.WriteJSON(w, r.Request, http.StatusOK, map[string]string{"tsd.mode": "rw", "tsd.http.query.allow_delete": "false"})
	return nil
}

// stats answers /api/stats.
func (a *API) stats(w http.ResponseWriter, r *request) error {
	reply.WriteJSON(w, r.Request, http.StatusOK, []any{})
	return nil
}
