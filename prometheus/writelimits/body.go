package writelimits

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// Receive appends the body of a request to dst, as it was sent, up to limit bytes.
func (s *Share) Receive(dst []byte, w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return dst, httpapi.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("body of %d bytes, more than %d (--write.max-body-bytes)", r.ContentLength, limit))
	}
	dst, err := netserver.Receive(dst, w, r, limit, &s.Share)
	if errors.Is(err, netserver.ErrLate) {
		w.Header().Set("Connection", "close") // the rest is not read
	}
	return dst, bodyError(err, limit)
}

// Unpack appends what is packed to dst, up to limit bytes.
func (s *Share) Unpack(dst []byte, packed *bytes.Reader, coding netserver.Coding, limit int) ([]byte, error) {
	unpacked, err := coding.Reader(packed)
	if err == nil {
		dst, err = netserver.Body{Claimed: -1, Limit: limit, Share: &s.Share}.ReadBody(dst, unpacked)
	}
	return dst, bodyError(err, limit)
}

// bodyError returns the answer to a body that could not be read.
func bodyError(err error, limit int) error {
	switch {
	case errors.Is(err, netserver.ErrTooLarge):
		return httpapi.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("body of more than %d bytes (--write.max-body-bytes)", limit))
	case errors.Is(err, netserver.ErrBusy):
		return ErrBusy
	case errors.Is(err, netserver.ErrLate):
		return httpapi.WithStatus(http.StatusRequestTimeout, err)
	case err != nil:
		return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("read body: %w", err))
	}
	return nil
}
