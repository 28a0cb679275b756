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
	share intake.Share
}

// read reads the body of a request, of at most limit bytes, in memory that it keeps. A Content-Length that is over the limit is enough.
func (b *body) read(r *http.Request, limit int) error {
	if r.ContentLength > int64(limit) {
		return tooLarge(limit)
	}
	content, err := decoded(r)
	if err != nil {
		return err
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, make([]byte, max(16<<10, len(b.bytes), min(int(r.ContentLength)+1, limit)-len(b.bytes)))...)[:len(b.bytes)]
		}
		n, err := content.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case len(b.bytes) > limit:
			return tooLarge(limit)
		case !b.share.Take(n):
			return errBusy
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return apiError{http.StatusBadRequest, "Unable to read the request", err.Error()}
		}
	}
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
