package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// readBody reads the body of a request that is not a put, of at most maxQueryBytes decompressed.
func readBody(w http.ResponseWriter, r *request) ([]byte, error) {
	return readBodyUpTo(w, r, maxQueryBytes)
}

// readBodyUpTo is readBody with another limit.
func readBodyUpTo(w http.ResponseWriter, r *request, limit int64) ([]byte, error) {
	coding, err := netserver.CodingOf(r.Request)
	if err != nil {
		return nil, httpapi.Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content encoding", Details: err.Error()}
	}
	content, err := coding.Reader(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to decompress the request", Details: err.Error()}
	}
	body, err := io.ReadAll(io.LimitReader(content, limit+1))
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case int64(len(body)) > limit || errors.As(err, &tooLarge):
		return nil, httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: "Request too large", Details: fmt.Sprintf("The content has more than %d bytes", limit)}
	case err != nil:
		return nil, httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to read the request", Details: err.Error()}
	}
	return body, nil
}
