package adapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter/bounds"
	"github.com/tsdbridge/tsdbridge/budget"
)

// maxForm bounds the body of a request of the query API: a query of the greatest length, escaped.
const maxForm = 4 << 20

// textCost is the memory that a query takes for each of its bytes, at most, until it has been answered.
const textCost = 256

// bounded reads the form of a request, with the time that a query may take, and refuses texts that Prometheus' parser should not be given.
// cancel is never nil.
func (o apiOptions) bounded(w http.ResponseWriter, r *http.Request) (*http.Request, context.CancelFunc, error) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if o.Engine.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Engine.Timeout)
	}
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := parseForm(r); err != nil {
		return r, cancel, err
	}
	length := 0
	for _, name := range []string{"query", "match[]", "match_target"} {
		if err := bounds.Selectors(r.Form[name]); err != nil {
			return r, cancel, badData(fmt.Errorf("invalid parameter %q: %w", name, err))
		}
		for _, text := range r.Form[name] {
			length += len(text)
		}
	}
	if strings.HasSuffix(r.URL.Path, "/format_query") || strings.HasSuffix(r.URL.Path, "/parse_query") {
		if err := bounds.Pretty(r.Form.Get("query")); err != nil {
			return r, cancel, badData(fmt.Errorf("invalid parameter \"query\": %w", err))
		}
	}
	return r, cancel, queryErrorOf(ctx, "parse", budget.From(ctx).Take(int64(length)*textCost))
}

// parseForm reads all forms that the API's handlers would.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		err = r.ParseMultipartForm(maxForm)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return statusError{http.StatusRequestEntityTooLarge, fmt.Errorf("the request has more than %d bytes", tooLarge.Limit)}
	case errors.Is(err, budget.ErrBusy), errors.Is(err, budget.ErrTooLarge):
		return queryError(r.Context(), "read the request", err)
	}
	return badData(fmt.Errorf("error parsing form values: %w", err))
}

// queryErrorOf is queryError for what may be no error.
func queryErrorOf(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	return queryError(ctx, op, err)
}

func badData(err error) error { return statusError{http.StatusBadRequest, err} }

// replyAPIError answers with an error as Prometheus' API has it.
func replyAPIError(w http.ResponseWriter, err error) {
	status, kind := http.StatusInternalServerError, "internal"
	if s, ok := queryStatus(err); ok {
		status = s
	}
	if own := (statusError{}); errors.As(err, &own) {
		status = own.status
	}
	switch {
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		kind = "bad_data"
	case status == http.StatusUnprocessableEntity:
		kind = "execution"
	case status == statusClientClosed:
		kind = "canceled"
	case errors.Is(err, budget.ErrBusy):
		kind = "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	}
	replyJSON(w, status, apiResponse{Status: "error", ErrorType: kind, Error: err.Error()})
}
