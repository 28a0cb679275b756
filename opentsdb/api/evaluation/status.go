package evaluation

import (
	"context"
	"errors"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// StatusOf returns the answer to an error: a TSD's status for what a TSD refuses, and 503 for what
// passes.
func StatusOf(err error) httpapi.Error {
	var (
		known   httpapi.Error
		syntax  tsdquery.SyntaxError
		unknown tsdquery.UnknownNameError
		bad     tsdquery.RequestError
	)
	message := err.Error()
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &syntax):
		return httpapi.Error{Status: http.StatusInternalServerError, Message: message}
	case errors.As(err, &unknown), errors.As(err, &bad), errors.Is(err, storage.ErrInvalid):
		return httpapi.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, storage.ErrUnreadable): // as a TSD refuses it
		return httpapi.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, storage.ErrDamaged):
		return httpapi.Error{Status: http.StatusInternalServerError, Message: message}
	case errors.Is(err, aggregate.ErrInfinite), errors.Is(err, aggregate.ErrFill):
		return httpapi.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, query.ErrEnded):
		return httpapi.Error{Status: http.StatusServiceUnavailable, Message: message}
	case errors.Is(err, storage.ErrLimit), errors.Is(err, query.ErrTooLarge), errors.Is(err, aggregate.ErrTooManyIntervals):
		return httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: message}
	case errors.Is(err, context.DeadlineExceeded):
		return httpapi.Error{Status: http.StatusRequestTimeout, Message: "Query timeout was exceeded"}
	case errors.Is(err, query.ErrBusy), errors.Is(err, storage.ErrNotReady):
		return httpapi.Error{Status: http.StatusServiceUnavailable, Message: message}
	}
	return httpapi.Error{Status: http.StatusServiceUnavailable, Message: "The store did not answer, try again later", Details: message}
}
