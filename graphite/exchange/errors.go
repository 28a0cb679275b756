package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// StatusClientClosed is the status of a request whose client went away. It is nginx's 499.
const StatusClientClosed = 499

// statusError is an error with the status of its answer.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// Refuse returns an error with the status of its answer.
func Refuse(status int, format string, args ...any) error {
	return &statusError{status, fmt.Sprintf(format, args...)}
}

// InvalidParams is graphite-web's InputParameterError.
func InvalidParams(format string, args ...any) error {
	return &python.InputError{Reason: fmt.Sprintf(format, args...)}
}

// StatusOf is the only place where errors become statuses.
func StatusOf(err error) int {
	var (
		own *statusError
		bad *python.InputError
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
		return StatusClientClosed
	}
	return http.StatusServiceUnavailable // too late, too busy, or the store is away
}

// TextOf returns what a client is told. What only operators understand goes to the log.
func TextOf(err error) string {
	var bad *python.InputError
	switch {
	case errors.As(err, &bad):
		return bad.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the request took too long (--query.timeout)"
	}
	return err.Error()
}

// ReasonOf returns the text of an error without graphite-web's frame for it, as /tags has it in
// JSON.
func ReasonOf(err error) string {
	if bad, ok := errors.AsType[*python.InputError](err); ok {
		return bad.Reason
	}
	return TextOf(err)
}

// AsInputError returns the error of a target or of parameters in an error.
func AsInputError(err error) (*python.InputError, bool) {
	var bad *python.InputError
	ok := errors.As(err, &bad)
	return bad, ok
}
