package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// dropCaches answers /api/dropcaches. It changes nothing, and does nothing shortly after it was done, so that
// every client may send it, as with telnet and as with a TSD; pages of other origins may not.
func (a *API) dropCaches(w http.ResponseWriter, r *httpapi.Request) error {
	if err := a.o.Edits.Origins.Check(r.Request); err != nil {
		return err
	}
	a.o.DropCaches()
	httpapi.WriteJSON(w, r.Request, http.StatusOK, map[string]string{"status": "200", "message": "Caches dropped"})
	return nil
}
