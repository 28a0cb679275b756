package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// aggregators answers /api/aggregators.
func (a *API) aggregators(w http.ResponseWriter, r *httpapi.Request) error {
	httpapi.WriteJSON(w, r.Request, http.StatusOK, aggregate.Names())
	return nil
}

// version answers /api/version with the keys of a TSD's build.
func (a *API) version(w http.ResponseWriter, r *httpapi.Request) error {
	httpapi.WriteJSON(w, r.Request, http.StatusOK, a.build())
	return nil
}

func (a *API) build() map[string]string {
	return map[string]string{
		"version": a.o.Version, "short_revision": a.o.Version, "full_revision": a.o.Version, "repo": "github.com/tsdbridge/tsdbridge",
		"timestamp": "", "repo_status": "", "user": "", "host": "", "branch": "", // of a TSD's build; ours does not record them
	}
}

// config answers /api/config and /api/config/filters.
func (a *API) config(w http.ResponseWriter, r *httpapi.Request) error {
	if len(r.Rest) > 0 && r.Rest[0] == "filters" {
		httpapi.WriteJSON(w, r.Request, http.StatusOK, query.FilterTypes())
		return nil
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, a.o.Settings)
	return nil
}
