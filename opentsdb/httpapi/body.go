package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// ReadBody reads the body of a request that is not a put, of at most MaxBody bytes decompressed.
func ReadBody(w http.ResponseWriter, r *Request) ([]byte, error) {
	return ReadBodyUpTo(w, r, MaxBody)
}

// ReadBodyUpTo is ReadBody with another limit.
func ReadBodyUpTo(w http.ResponseWriter, r *Request, limit int64) ([]byte, error) {
	coding, err := CodingOf(r.Request)
	if err != nil {
		return nil, err
	}
	content, err := Decompress(coding, http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(content, limit+1))
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case int64(len(body)) > limit || errors.As(err, &tooLarge):
		return nil, TooLarge(limit)
	case err != nil:
		return nil, Error{Status: http.StatusBadRequest, Message: "Unable to read the request", Details: err.Error()}
	}
	return body, nil
}

// CodingOf returns how the body of a request is compressed.
func CodingOf(r *http.Request) (netserver.Coding, error) {
	coding, err := netserver.CodingOf(r)
	if err != nil {
		return coding, Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content encoding", Details: err.Error()}
	}
	return coding, nil
}

// Decompress returns the content of a body.
func Decompress(coding netserver.Coding, body io.Reader) (io.Reader, error) {
	content, err := coding.Reader(body)
	if err != nil {
		return nil, Error{Status: http.StatusBadRequest, Message: "Unable to decompress the request", Details: err.Error()}
	}
	return content, nil
}

// TooLarge is a request of more bytes than a limit.
func TooLarge(limit int64) error {
	return Error{Status: http.StatusRequestEntityTooLarge, Message: "Request too large", Details: fmt.Sprintf("The content has more than %d bytes", limit)}
}

// MaxBody bounds the body of a request that is not a put.
const MaxBody = 4 << 20

// ErrNoContent is a request whose body is empty.
var ErrNoContent = Error{
	Status: http.StatusBadRequest, Message: "Missing message content", Details: "Supply valid JSON formatted data in the body of your request",
}

// BadJSON is a body that cannot be read.
func BadJSON(err error) error {
	return Error{Status: http.StatusBadRequest, Message: "Unable to parse the given JSON", Details: err.Error()}
}
