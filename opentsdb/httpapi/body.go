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
	coding, err := netserver.CodingOf(r.Request)
	if err != nil {
		return nil, Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content encoding", Details: err.Error()}
	}
	content, err := coding.Reader(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, Error{Status: http.StatusBadRequest, Message: "Unable to decompress the request", Details: err.Error()}
	}
	body, err := io.ReadAll(io.LimitReader(content, limit+1))
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case int64(len(body)) > limit || errors.As(err, &tooLarge):
		return nil, Error{Status: http.StatusRequestEntityTooLarge, Message: "Request too large", Details: fmt.Sprintf("The content has more than %d bytes", limit)}
	case err != nil:
		return nil, Error{Status: http.StatusBadRequest, Message: "Unable to read the request", Details: err.Error()}
	}
	return body, nil
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
