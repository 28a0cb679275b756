package adapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/adapter/bounds"
	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/storage"
)

// statusClientClosed is what Prometheus answers (to nobody) when the client went away, nginx's 499.
const statusClientClosed = 499

// limitError says which limit of a query was met. It is a storage.ErrLimit.
type limitError struct {
	what  string
	limit int64
}

func (e limitError) Error() string {
	return fmt.Sprintf("query needs more than %d %s", e.limit, e.what)
}

func (limitError) Is(target error) bool { return target == storage.ErrLimit }

// storeError is an error that is the store's and passes. Prometheus takes plain errors for mistakes in the query (422) and only
// promql.ErrStorage for its own failure; tsdb.ErrNotReady makes it say "unavailable".
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }

func (e storeError) Unwrap() []error {
	errs := []error{e.err, promql.ErrStorage{Err: e.err}}
	if errors.Is(e.err, storage.ErrNotReady) || errors.Is(e.err, budget.ErrBusy) {
		errs = append(errs, tsdb.ErrNotReady)
	}
	return errs
}

// queryError wraps an error of the store in the type by which Prometheus' engine and API choose their answer.
func queryError(ctx context.Context, op string, err error) error {
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return promql.ErrQueryCanceled(op)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return promql.ErrQueryTimeout(op)
	}
	err = fmt.Errorf("%s: %w", op, err)
	if ours := (storeError{}); errors.As(err, &ours) {
		return err
	}
	if isLimit(err) || errors.Is(err, storage.ErrInvalid) {
		return err
	}
	return storeError{err}
}

// isLimit says whether an error is a limit that the query would meet again.
func isLimit(err error) bool {
	return errors.Is(err, storage.ErrLimit) || errors.Is(err, budget.ErrTooLarge) || errors.Is(err, bounds.ErrCost)
}

// queryStatus is the HTTP status of an error made by queryError, however wrapped; ok is false for other errors.
func queryStatus(err error) (status int, ok bool) {
	var (
		ours     storeError
		canceled promql.ErrQueryCanceled
		timeout  promql.ErrQueryTimeout
	)
	switch {
	case errors.Is(err, storage.ErrDamaged):
		return http.StatusInternalServerError, true // asking again gives the same
	case errors.As(err, &ours), errors.As(err, &timeout), errors.Is(err, budget.ErrBusy):
		return http.StatusServiceUnavailable, true
	case errors.As(err, &canceled):
		return statusClientClosed, true
	case isLimit(err):
		return http.StatusUnprocessableEntity, true
	case errors.Is(err, storage.ErrInvalid), errors.Is(err, bounds.ErrText):
		return http.StatusBadRequest, true
	}
	return 0, false
}

// overrideStatus is queryStatus as web/api/v1 wants it. The type of its first argument is not exported there.
func overrideStatus[N any](_ N, err error) (status int, ok bool) { return queryStatus(err) }
