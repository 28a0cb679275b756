package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/storage"
)

// statusClientClosed is nginx's 499. Prometheus uses it when the client has gone away.
const statusClientClosed = 499

// LimitError is a storage.ErrLimit that names the limit which a query exceeded.
type LimitError struct {
	What  string
	Limit int64
}

// Limit returns the error of a query that needs more than n of something.
func Limit(what string, n int64) error { return LimitError{what, n} }

func (e LimitError) Error() string {
	return fmt.Sprintf("query needs more than %d %s", e.Limit, e.What)
}

// Is implements errors.Is: a LimitError is a storage.ErrLimit.
func (LimitError) Is(target error) bool { return target == storage.ErrLimit }

// StoreError marks a temporary error of the store. Prometheus treats plain errors as mistakes in
// the query (422), and only promql.ErrStorage as its own failure. tsdb.ErrNotReady makes it answer
// "unavailable".
type StoreError struct{ Err error }

func (e StoreError) Error() string { return e.Err.Error() }

func (e StoreError) Unwrap() []error {
	errs := []error{e.Err, promql.ErrStorage{Err: e.Err}}
	if errors.Is(e.Err, storage.ErrNotReady) || errors.Is(e.Err, query.ErrBusy) {
		errs = append(errs, tsdb.ErrNotReady)
	}
	return errs
}

// QueryError wraps an error of the store in the type by which Prometheus' engine and API choose
// their answer. It returns nil for nil.
func QueryError(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return promql.ErrQueryCanceled(op)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return promql.ErrQueryTimeout(op)
	}
	err = fmt.Errorf("%s: %w", op, err)
	if ours := (StoreError{}); errors.As(err, &ours) {
		return err
	}
	if isLimit(err) || errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrUnreadable) {
		return err
	}
	return StoreError{err}
}

// isLimit reports whether an error is a limit that the same query would exceed again.
func isLimit(err error) bool {
	return errors.Is(err, storage.ErrLimit) || errors.Is(err, query.ErrTooLarge) || errors.Is(err, limits.ErrCost)
}

// QueryStatus returns the HTTP status of an error made by QueryError, however it is wrapped. ok is
// false for other errors.
func QueryStatus(err error) (status int, ok bool) {
	var (
		ours     StoreError
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
	)
	switch {
	case errors.Is(err, storage.ErrDamaged):
		return http.StatusInternalServerError, true // a retry gives the same answer
	case errors.As(err, &ours), errors.As(err, &timeout), errors.Is(err, query.ErrBusy):
		return http.StatusServiceUnavailable, true
	case errors.As(err, &canceled):
		return statusClientClosed, true
	case isLimit(err), errors.Is(err, storage.ErrUnreadable):
		return http.StatusUnprocessableEntity, true // a retry gives the same answer, and proxies make none
	case errors.Is(err, storage.ErrInvalid), errors.Is(err, limits.ErrText):
		return http.StatusBadRequest, true
	}
	return 0, false
}

// Error is an error with the HTTP status of its answer.
type Error struct {
	Status int
	Err    error
}

// WithStatus returns err with the HTTP status of its answer.
func WithStatus(status int, err error) error { return Error{status, err} }

func (e Error) Error() string { return e.Err.Error() }

func (e Error) Unwrap() error { return e.Err }
