package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Path is where a request goes: /api[/v1]/endpoint/rest. Endpoints are named in any case.
type Path struct {
	Endpoint string
	Rest     []string
}

// ErrEndpoint is the answer to a path without an endpoint.
var ErrEndpoint = Error{Status: http.StatusNotFound, Message: "Endpoint not found"}

// maxVersion is that of the API; see /api/v1/put.
const maxVersion = 1

// ParsePath splits a path as OpenTSDB's HttpQuery.getQueryBaseRoute does.
func ParsePath(path string) (Path, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || !strings.EqualFold(parts[0], "api") {
		return Path{}, ErrEndpoint
	}
	parts = parts[1:]
	digits, versioned := strings.CutPrefix(strings.ToLower(parts[0]), "v")
	if version, err := strconv.Atoi(digits); versioned && err == nil {
		if version > maxVersion {
			return Path{}, Error{
				Status: http.StatusNotImplemented, Message: "Requested API version is greater than the max implemented",
				Details: fmt.Sprintf("API version [%d] is greater than the max [%d]", version, maxVersion),
			}
		}
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return Path{}, ErrEndpoint
	}
	return Path{strings.ToLower(parts[0]), parts[1:]}, nil
}

// Method returns the method that a request means: clients that can only GET set another one by
// method_override. A GET from another origin must not be trusted with a change.
func Method(r *http.Request) string {
	if r.Method != http.MethodGet {
		return r.Method
	}
	parameters, _ := url.ParseQuery(Separated(r.URL.RawQuery)) // a wrong escape is refused before anything is done
	return strings.ToUpper(cmp.Or(parameters.Get("method_override"), r.Method))
}

// MethodOf returns Method(r), and refuses an override that is none.
func MethodOf(r *http.Request) (string, error) {
	method := Method(r)
	switch overrides := r.URL.Query()["method_override"]; {
	case r.Method != http.MethodGet || overrides == nil:
		return method, nil
	case overrides[0] == "":
		return "", Error{Status: http.StatusMethodNotAllowed, Message: "Missing method override value", Allow: EveryMethod()}
	}
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method, nil
	}
	return "", Error{Status: http.StatusMethodNotAllowed, Message: "Unknown or unsupported method override value", Allow: EveryMethod()}
}

// ReadWrite returns the methods of endpoints that only answer.
func ReadWrite() []string { return []string{http.MethodGet, http.MethodPost} }

// EveryMethod returns all methods that a TSD knows.
func EveryMethod() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}
}
