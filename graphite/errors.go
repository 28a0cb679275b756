package graphite

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// statusClientClosed is the status of a request whose client went away. It is nginx's 499.
const statusClientClosed = 499

// statusError is an error with the status of its answer.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &statusError{status, fmt.Sprintf(format, args...)}
}

// invalidParams is graphite-web's InputParameterError.
func invalidParams(format string, args ...any) error {
	return &eval.InputError{Reason: fmt.Sprintf(format, args...)}
}

// statusOf is the only place where errors become statuses.
func statusOf(err error) int {
	var (
		own *statusError
		bad *eval.InputError
	)
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, &bad), errors.Is(err, storage.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, storage.ErrDamaged), errors.Is(err, storage.ErrUnreadable):
		return http.StatusInternalServerError
	case errors.Is(err, storage.ErrLimit), errors.Is(err, query.ErrTooLarge):
		return http.StatusUnprocessableEntity
	case errors.Is(err, context.Canceled):
		return statusClientClosed
	}
	return http.StatusServiceUnavailable // too late, too busy, or the store is away
}

// textOf returns what a client is told. What only operators understand goes to the log.
func textOf(err error) string {
	var bad *eval.InputError
	switch {
	case errors.As(err, &bad):
		return bad.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the request took too long (--query.timeout)"
	}
	return err.Error()
}

// reasonOf returns the text of an error without graphite-web's frame for it, as /tags has it in
// JSON.
func reasonOf(err error) string {
	if bad, ok := errors.AsType[*eval.InputError](err); ok {
		return bad.Reason
	}
	return textOf(err)
}

func inputError(err error) (*eval.InputError, bool) {
	var bad *eval.InputError
	ok := errors.As(err, &bad)
	return bad, ok
}
