// Package httpapi is what all endpoints of OpenTSDB's HTTP API share: how a TSD reads paths, methods,
// parameters and bodies, what names may be, which pages of other origins may use it, and how it prints
// answers, errors and statistics. It knows no endpoint.
package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// ContentType is that of every answer under /api, of empty ones and JSONP too.
const ContentType = "application/json; charset=UTF-8"

// An Error is an answer other than success.
type Error struct {
	Status  int
	Message string
	Details string
	Allow   []string // the methods that are allowed where another one is refused
}

// Error returns the message.
func (e Error) Error() string { return e.Message }

// BadRequest is a request that cannot be answered.
func BadRequest(message string) Error { return Error{Status: http.StatusBadRequest, Message: message} }

// NotAllowed refuses a method where others are allowed.
func NotAllowed(method string, allowed ...string) Error {
	return Error{
		Allow: allowed, Status: http.StatusMethodNotAllowed, Message: "Method not allowed", Details: "The HTTP method [" + method + "] is not permitted for this endpoint",
	}
}

// Illegal is a request with a value that cannot be; a TSD says so twice.
func Illegal(message string) Error {
	return Error{Status: http.StatusBadRequest, Message: message, Details: message}
}

// WriteError answers with a TSD's error document.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	var e Error
	if !errors.As(err, &e) {
		e = Error{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", RetryAfter())
	}
	if e.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(e.Allow, ", "))
	}
	WriteJSON(w, r, e.Status, document{shownError{e.Status, e.Message, e.Details}})
}

// document is a TSD's answer to a request that failed, in the order of its fields.
type document struct {
	Error shownError `json:"error"`
}

type shownError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details,omitempty"`
}

// RetryAfter returns how many seconds a client should wait. It differs between clients, so that they
// do not all return at once.
func RetryAfter() string { return strconv.Itoa(1 + rand.IntN(5)) }

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := Marshal(v)
	if err != nil {
		panic("opentsdb: encode answer: " + err.Error()) // of our own maps and strings
	}
	before, after := JSONP(r)
	w.Header().Set("Content-Type", ContentType)
	w.WriteHeader(status)
	// a client that is gone loses the answer
	_, _ = w.Write([]byte(before + string(body) + after))
}

// Marshal encodes a value without escaping what only HTML needs.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// Empty answers without a body.
func Empty(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", ContentType)
	w.WriteHeader(status)
}

// callback is the name of a function in JavaScript; nothing else may be called.
func callback() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][\w$.]{0,127}$`) }

// JSONP returns what stands before and after JSON: the call of the function that the request names.
// A name that is none is ignored.
func JSONP(r *http.Request) (before, after string) {
	if !strings.Contains(r.URL.RawQuery, "jsonp=") {
		return "", ""
	}
	name := r.URL.Query().Get("jsonp")
	if !callback().MatchString(name) {
		return "", ""
	}
	return name + "(", ")"
}
