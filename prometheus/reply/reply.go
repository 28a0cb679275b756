// Package reply is how the rooms of Prometheus answer: errors with their HTTP statuses, in text and in the JSON frame of its API. It never decides what is asked for.
package reply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/budget"
)

// Frame is the frame of every answer of the API.
type Frame struct {
	Status    string `json:"status"`
	Data      any    `json:"data,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	Error     string `json:"error,omitempty"`
}

func JSON(w http.ResponseWriter, status int, body Frame) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here is a client that went away.
	_ = json.NewEncoder(w).Encode(body)
}

// APIError answers with an error as Prometheus' API has it.
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
	case errors.Is(err, budget.ErrBusy):
		kind = "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	}
	JSON(w, status, Frame{Status: "error", ErrorType: kind, Error: err.Error()})
}

// Text answers with an error as text, before anything else was written.
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

// Cut cuts text to at most limit bytes, between characters.
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
