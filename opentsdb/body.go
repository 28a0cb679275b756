package opentsdb

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"github.com/tsdbridge/tsdbridge/intake"
)

// A body is what a request sent, and its share of the gate.
type body struct {
	bytes []byte
	share *intake.Share
}

// read reads the body of a request, of at most limit bytes, in memory that it keeps. A Content-Length that is over the limit is enough.
func (b *body) read(w http.ResponseWriter, r *http.Request, limit int) error {
	if r.ContentLength > int64(limit) {
		return tooLarge(limit)
	}
	content, err := decoded(r)
	if err != nil {
		return err
	}
	claimed := r.ContentLength
	if content != r.Body {
		claimed = -1 // it is of what is compressed
	}
	control := http.NewResponseController(w)
	b.share.Receiving(func() { _ = control.SetReadDeadline(past) })
	defer b.share.Received()
	b.bytes, err = intake.Body{Claimed: claimed, Limit: limit, Share: b.share}.ReadBody(b.bytes, content)
	switch {
	case errors.Is(err, intake.ErrTooLarge):
		return tooLarge(limit)
	case errors.Is(err, intake.ErrBusy):
		return errBusy
	case err != nil:
		return apiError{http.StatusBadRequest, "Unable to read the request", err.Error()}
	}
	return nil
}

func tooLarge(limit int) error {
	return apiError{http.StatusRequestEntityTooLarge, "Request too large", fmt.Sprintf("The content has more than %d bytes", limit)}
}

// decoded is the body without the encodings that a TSD (Netty) knows.
func decoded(r *http.Request) (io.Reader, error) {
	var content io.Reader
	var err error
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
		content, err = gzip.NewReader(r.Body)
	case "deflate", "x-deflate":
		content, err = zlib.NewReader(r.Body)
	default:
		return nil, apiError{http.StatusUnsupportedMediaType, "Unsupported content encoding", encoding}
	}
	if err != nil {
		return nil, apiError{http.StatusBadRequest, "Unable to decompress the request", err.Error()}
	}
	return content, nil
}
