package query

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// An errorKind is the errorType of an answer, with the status that it has if the error names none.
type errorKind struct {
	name   string
	status int
}

var (
	badDataKind     = errorKind{"bad_data", http.StatusBadRequest}
	canceledKind    = errorKind{"canceled", 499}
	timeoutKind     = errorKind{"timeout", http.StatusServiceUnavailable}
	internalKind    = errorKind{"internal", http.StatusInternalServerError}
	unavailableKind = errorKind{"unavailable", http.StatusInternalServerError}
	executionKind   = errorKind{"execution", http.StatusUnprocessableEntity}
)

// errorKindOf returns the kind of an evaluation's error.
func errorKindOf(err error) errorKind {
	var (
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
		store    promql.ErrStorage
	)
	switch {
	case errors.As(err, &canceled):
		return canceledKind
	case errors.As(err, &timeout):
		return timeoutKind
	case errors.As(err, &store):
		return internalKind
	case errors.Is(err, context.Canceled):
		return canceledKind
	}
	return executionKind
}

// respondError answers with an error as the module does. That the store is not ready goes before kind.
func respondError(w http.ResponseWriter, kind errorKind, err error) {
	if errors.Is(err, tsdb.ErrNotReady) {
		kind = unavailableKind
	}
	if status, ok := httpapi.QueryStatus(err); ok {
		kind.status = status
	}
	text, _ := json.Marshal(httpapi.Frame{Status: "error", ErrorType: kind.name, Error: err.Error()}) // texts can be marshalled
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(kind.status)
	_, _ = w.Write(text) // an error means that the client went away
}
