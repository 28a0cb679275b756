// Package admin is the admin API of a running adapter: the operations on its store that commands elsewhere ask for, each with
// the client that asks for it, and the list of imports, exports and copies that do. It opens no store.
package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Operations are what a running adapter does for commands elsewhere.
type Operations interface {
	// Handlers returns those of POST requests, by their paths.
	Handlers() map[string]http.HandlerFunc
}

// A failer answers requests that fail.
type failer struct{ logger *slog.Logger }

// fail answers a request that failed for a reason of the adapter's own, and logs it.
func (f failer) fail(w http.ResponseWriter, r *http.Request, err error) {
	f.warn(r, err)
	httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
}

// warn logs a request that failed, whose answer may have begun.
func (f failer) warn(r *http.Request, err error) {
	f.logger.WarnContext(r.Context(), "admin request failed; see /-/ready if the tables are away", "path", r.URL.Path, "err", err)
}

// answer answers a request with data, or with what keeps it from being carried out.
func (f failer) answer(w http.ResponseWriter, r *http.Request, data any, err error) {
	if err != nil {
		f.refuse(w, r, err)
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: data})
}

// readJSON reads the body of a request. An error is an ErrInvalid.
func readJSON(body io.Reader, into any) error {
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return nil
}

// refuse answers a request that cannot be carried out: the client's fault, or the adapter's.
func (f failer) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if storage.IsRefusal(err) {
		httpapi.BadRequest(w, err)
		return
	}
	f.fail(w, r, err)
}
