package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/storage"
)

// statusOf returns the answer to an error: a TSD's status for what a TSD refuses, and 503 for what
// passes.
func statusOf(err error) reply.Error {
	var (
		known   reply.Error
		syntax  query.SyntaxError
		unknown query.UnknownNameError
		bad     query.RequestError
	)
	message := err.Error()
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &syntax):
		return reply.Error{Status: http.StatusInternalServerError, Message: message}
	case errors.As(err, &unknown), errors.As(err, &bad), errors.Is(err, storage.ErrInvalid):
		return reply.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, storage.ErrUnreadable): // as a TSD refuses it
		return reply.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, storage.ErrDamaged):
		return reply.Error{Status: http.StatusInternalServerError, Message: message}
	case errors.Is(err, aggregate.ErrInfinite), errors.Is(err, aggregate.ErrFill):
		return reply.Error{Status: http.StatusBadRequest, Message: message, Details: message}
	case errors.Is(err, running.ErrEnded):
		return reply.Error{Status: http.StatusServiceUnavailable, Message: message}
	case errors.Is(err, storage.ErrLimit), errors.Is(err, budget.ErrTooLarge), errors.Is(err, aggregate.ErrTooManyIntervals):
		return reply.Error{Status: http.StatusRequestEntityTooLarge, Message: message}
	case errors.Is(err, context.DeadlineExceeded):
		return reply.Error{Status: http.StatusRequestTimeout, Message: "Query timeout was exceeded"}
	case errors.Is(err, budget.ErrBusy), errors.Is(err, storage.ErrNotReady):
		return reply.Error{Status: http.StatusServiceUnavailable, Message: message}
	}
	return reply.Error{Status: http.StatusServiceUnavailable, Message: "The store did not answer, try again later", Details: message}
}
