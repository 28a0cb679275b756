// Package httpapi holds what the answers of Prometheus' protocols have in common: the HTTP statuses
// of errors, error texts, and the JSON frame of the API. It knows nothing of requests.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Frame is the JSON object around every answer of the API.
type Frame struct {
	Status    string `json:"status"`
	Data      any    `json:"data,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	Error     string `json:"error,omitempty"`
}

// JSON answers with a frame.
func JSON(w http.ResponseWriter, status int, body Frame) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the client went away.
	_ = json.NewEncoder(w).Encode(body)
}

// BadRequest answers a request that cannot be carried out as it is.
func BadRequest(w http.ResponseWriter, err error) {
	JSON(w, http.StatusBadRequest, Frame{Status: "error", ErrorType: "bad_data", Error: err.Error()})
}

// RefuseMethod answers a request whose method its path does not take.
func RefuseMethod(w http.ResponseWriter, r *http.Request, methods string) {
	err := netserver.NotAllowed(w, r, methods)
	JSON(w, http.StatusMethodNotAllowed, Frame{Status: "error", ErrorType: "bad_data", Error: err.Error()})
}

// APIError answers with an error in the form of Prometheus' API.
func APIError(w http.ResponseWriter, err error) {
	status, kind := http.StatusInternalServerError, "internal"
	if s, ok := QueryStatus(err); ok {
		status = s
	}
	if own := (Error{}); errors.As(err, &own) {
		status = own.Status
	}
	switch {
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		kind = "bad_data"
	case status == http.StatusUnprocessableEntity:
		kind = "execution"
	case status == statusClientClosed:
		kind = "canceled"
	case errors.Is(err, query.ErrBusy):
		kind = "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	}
	JSON(w, status, Frame{Status: "error", ErrorType: kind, Error: err.Error()})
}

// Text answers with an error as plain text. Nothing may have been written before.
func Text(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if s, ok := QueryStatus(err); ok {
		status = s
	}
	if own := (Error{}); errors.As(err, &own) {
		status = own.Status
	}
	http.Error(w, err.Error(), status)
}

// Cut shortens text to at most limit bytes, between characters.
func Cut(s string, limit int) string {
	const dots = "..."
	if len(s) <= limit {
		return s
	}
	cut := limit - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots
}
