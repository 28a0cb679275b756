package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// A Request is an HTTP request for an endpoint.
type Request struct {
	*http.Request

	Verb string   // the method that it means, see Method
	Rest []string // what follows the endpoint in the path
}

// Below returns the element of the path that follows the endpoint, in lower case.
func (r *Request) Below() string {
	if len(r.Rest) == 0 {
		return ""
	}
	return strings.ToLower(r.Rest[0])
}

// ParametersKey returns the parameters of a request that an answer depends on.
func (r *Request) ParametersKey() string {
	v := r.URL.Query()
	for name := range v {
		if name == "jsonp" || strings.HasPrefix(name, "_") { // jQuery's, against caches
			delete(v, name)
		}
	}
	return v.Encode()
}

// Last returns a parameter of the URL, of several the last, "" without one.
func (r *Request) Last(name string) string {
	value, _ := r.Values().Last(name)
	return value
}

// Required returns a parameter that must be there and not empty.
func (r *Request) Required(name string) (string, error) { return r.Values().Required(name) }

// Values returns the parameters of the URL.
func (r *Request) Values() Values { return Values(r.URL.Query()) }

// Values are the parameters of a URL. Of several of a name the last one counts.
type Values url.Values

// Last returns a parameter; given is false without one.
func (v Values) Last(name string) (value string, given bool) {
	all := v[name]
	if len(all) == 0 {
		return "", false
	}
	return all[len(all)-1], true
}

// Required returns a parameter that must be there and not empty.
func (v Values) Required(name string) (string, error) {
	if value, _ := v.Last(name); value != "" {
		return value, nil
	}
	return "", BadRequest("Missing parameter <code>" + name + "</code>")
}
