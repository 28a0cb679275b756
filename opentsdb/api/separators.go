package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
)

// Separated returns a query string whose parameters stand between ampersands alone. A TSD's Netty takes a semicolon
// for one, unless it is escaped.
func Separated(query string) string { return strings.ReplaceAll(query, ";", "&") }

// separated returns a request with such a query string. A parameter with a wrong escape is an error, since without
// it the rest would be another question; a TSD does not answer at all.
func separated(r *http.Request) (*http.Request, error) {
	query := Separated(r.URL.RawQuery)
	if _, err := url.ParseQuery(query); err != nil {
		return r, reply.Error{Status: http.StatusBadRequest, Message: "Unable to parse the parameters", Details: err.Error()}
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
