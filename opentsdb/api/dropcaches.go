package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// dropCaches answers /api/dropcaches. It changes nothing, and does nothing shortly after it was done, so that
// whoever may ask may ask for it, as with telnet and as with a TSD; pages of other origins may not.
func (a *API) dropCaches(w http.ResponseWriter, r *httpapi.Request) error {
	if a.o.Origins.Foreign(r.Request) {
		return httpapi.ErrForeign
	}
	a.o.DropCaches()
	httpapi.WriteJSON(w, r.Request, http.StatusOK, map[string]string{"status": "200", "message": "Caches dropped"})
	return nil
}
