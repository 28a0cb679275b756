package api

import "github.com/tsdbridge/tsdbridge/opentsdb/httpapi"

// last returns a parameter of the URL, of several the last, "" without one.
func (r *request) last(name string) string {
	values := r.URL.Query()[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// required returns a parameter that must be there and not empty.
func (r *request) required(name string) (string, error) {
	if value := r.last(name); value != "" {
		return value, nil
	}
	return "", httpapi.BadRequest("Missing parameter <code>" + name + "</code>")
}
