package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// mayEdit returns why a request may not change names, metadata or trees: edits are off, or
// a page of another origin makes a browser send it.
func (a *API) mayEdit(r *httpapi.Request) error {
	if !a.o.AllowEdits {
		return httpapi.Error{
			Status: http.StatusForbidden, Message: "Edits are not enabled", Details: "--opentsdb.allow-edits lets clients change names, metadata and trees",
		}
	}
	if a.o.Origins.Foreign(r.Request) {
		return httpapi.ErrForeign
	}
	return nil
}
