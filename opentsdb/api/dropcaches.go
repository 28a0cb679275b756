package api

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
)

// dropCaches answers /api/dropcaches.
func (a *API) dropCaches(w http.ResponseWriter, r *request) error {
	if err := a.mayEdit(r); err != nil {
		return err
	}
	a.o.DropCaches()
	reply.WriteJSON(w, r.Request, http.StatusOK, map[string]string{"status": "200", "message": "Caches dropped"})
	return nil
}
