package admin

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// An API serves the operations of a running adapter over HTTP. A page of another origin cannot have a browser start one.
type API struct {
	failer
	transfers  *Transfers
	operations []Operations
	exclusive  Exclusive
	busy       sync.Mutex // held by the one of exclusive that is under way
}

// Exclusive operations are carried out one at a time, by their paths. Each returns the data of its answer; nil: none.
type Exclusive map[string]func(*http.Request) (any, error)

// With returns these operations and another one.
func (e Exclusive) With(path string, serve func(*http.Request) (any, error)) Exclusive {
	all := maps.Clone(e)
	all[path] = serve
	return all
}

// NewAPI returns one. It counts the requests of transfers.
func NewAPI(logger *slog.Logger, transfers *Transfers, exclusive Exclusive, operations ...Operations) *API {
	return &API{failer: failer{logger}, transfers: transfers, operations: operations, exclusive: exclusive}
}

// Mount mounts the operations.
func (a *API) Mount(r chi.Router) {
	post := func(path string, serve http.HandlerFunc) {
		r.Method(http.MethodPost, path, http.NewCrossOriginProtection().Handler(serve))
	}
	post(ProgressPath, a.transfers.Report)
	for path, serve := range a.exclusive {
		handler := http.NewCrossOriginProtection().Handler(a.alone(serve))
		r.HandleFunc(path, notAllowedBut("POST, PUT")) // otherwise the API of Prometheus' module would answer
		r.Method(http.MethodPost, path, handler)
		r.Method(http.MethodPut, path, handler)
	}
	for _, o := range a.operations {
		for path, serve := range o.Handlers() {
			post(path, a.transfers.Watched(path, serve))
		}
	}
}

// notAllowedBut refuses a request, since only other methods are allowed.
func notAllowedBut(methods string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { netserver.RefuseMethod(w, r, methods) }
}

// alone answers with the result of serve, 204 if there is none, unless another operation is under way.
func (a *API) alone(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.busy.TryLock() {
			a.fail(w, r, errors.New("another snapshot or compaction is under way"))
			return
		}
		defer a.busy.Unlock()
		data, err := serve(r)
		if err == nil && data == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		a.answer(w, r, data, err)
	}
}
