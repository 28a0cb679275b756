package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
)

// maxForm bounds the body of a request: the longest query, escaped, fits into it.
const maxForm = 4 << 20

// textCost is how much memory a query takes at most for each byte of its text, until it has been
// answered.
const textCost = 256

// bounded reads the form of a request within the time of a query. It refuses texts that are too
// costly for Prometheus' parser. cancel is never nil.
func (o Options) bounded(w http.ResponseWriter, r *http.Request) (*http.Request, context.CancelFunc, error) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
	}
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := parseForm(r); err != nil {
		return r, cancel, err
	}
	length := 0
	for _, name := range []string{"query", "match[]", "match_target"} {
		if err := limits.Selectors(r.Form[name]); err != nil {
			return r, cancel, badData(fmt.Errorf("invalid parameter %q: %w", name, err))
		}
		for _, text := range r.Form[name] {
			length += len(text)
		}
	}
	if err := limits.Terms(r.Form["search[]"]); err != nil {
		return r, cancel, badData(fmt.Errorf("invalid parameter \"search[]\": %w", err))
	}
	if strings.HasSuffix(r.URL.Path, "/format_query") || strings.HasSuffix(r.URL.Path, "/parse_query") {
		if err := limits.Pretty(r.Form.Get("query")); err != nil {
			return r, cancel, badData(fmt.Errorf("invalid parameter \"query\": %w", err))
		}
	}
	return r, cancel, httpapi.QueryError(ctx, "parse", query.AccountOf(ctx).Take(int64(length)*textCost))
}

// parseForm reads every kind of form that the API's handlers accept.
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
		return httpapi.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("the request has more than %d bytes", tooLarge.Limit))
	case errors.Is(err, query.ErrBusy), errors.Is(err, query.ErrTooLarge):
		return httpapi.QueryError(r.Context(), "read the request", err)
	}
	return badData(fmt.Errorf("error parsing form values: %w", err))
}

func badData(err error) error { return httpapi.WithStatus(http.StatusBadRequest, err) }
