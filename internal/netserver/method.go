package netserver

import (
	"errors"
	"net/http"
)

// NotAllowed returns the error of a request whose method its path does not take. The answer's header
// gets the methods that it takes.
func NotAllowed(w http.ResponseWriter, r *http.Request, methods string) error {
	w.Header().Set("Allow", methods)
	return errors.New("method " + r.Method + " is not allowed here")
}

// RefuseMethod answers with that error as text.
func RefuseMethod(w http.ResponseWriter, r *http.Request, methods string) {
	http.Error(w, NotAllowed(w, r, methods).Error(), http.StatusMethodNotAllowed)
}
