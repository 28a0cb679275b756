package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// Separated returns a query string whose parameters stand between ampersands alone. A TSD's Netty takes a semicolon
// for one, unless it is escaped.
func Separated(query string) string { return strings.ReplaceAll(query, ";", "&") }

// Parameters returns the parameters of a query string. One with a wrong escape is an error.
func Parameters(query string) (url.Values, error) {
	v, err := url.ParseQuery(Separated(query))
	if err != nil {
		return nil, Error{Status: http.StatusBadRequest, Message: "Unable to parse the parameters", Details: err.Error()}
	}
	return v, nil
}

// SeparatedRequest returns a request whose parameters stand between ampersands. A parameter with a wrong
// escape is an error, since without it the rest would be another question; a TSD does not answer at all.
func SeparatedRequest(r *http.Request) (*http.Request, error) {
	query := Separated(r.URL.RawQuery)
	if _, err := Parameters(query); err != nil {
		return r, err
	}
	if query == r.URL.RawQuery {
		return r, nil
	}
	target := *r.URL
	target.RawQuery = query
	changed := *r
	changed.URL = &target
	return &changed, nil
}
