package api

import (
	"net/http"
	"net/url"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Parameters returns the parameters of a query string. One with a wrong escape is an error.
func Parameters(text string) (url.Values, error) {
	return parsed(query.Separated(text))
}

// parsed is Parameters of a text whose parameters stand between ampersands.
func parsed(text string) (url.Values, error) {
	v, err := url.ParseQuery(text)
	if err != nil {
		return nil, httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to parse the parameters", Details: err.Error()}
	}
	return v, nil
}

// separated returns a request whose parameters stand between ampersands. A parameter with a wrong escape is an error, since without
// it the rest would be another question; a TSD does not answer at all.
func separated(r *http.Request) (*http.Request, error) {
	text := query.Separated(r.URL.RawQuery)
	if _, err := parsed(text); err != nil {
		return r, err
	}
	if text == r.URL.RawQuery {
		return r, nil
	}
	target := *r.URL
	target.RawQuery = text
	changed := *r
	changed.URL = &target
	return &changed, nil
}
