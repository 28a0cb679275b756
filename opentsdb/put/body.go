package put

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// A body is what a request sent, and its share of the gate.
type body struct {
	bytes []byte
	share *netserver.Share
	turns *query.Turns // of those that decompress
}

// read reads the body of a request, of at most limit bytes, in memory that it keeps. A
// Content-Length that is over the limit is enough.
func (b *body) read(w http.ResponseWriter, r *http.Request, limit int) error {
	if r.ContentLength > int64(limit) {
		return httpapi.TooLarge(int64(limit))
	}
	coding, err := httpapi.CodingOf(r)
	if err != nil {
		return err
	}
	if coding == netserver.Plain {
		b.bytes, err = b.receive(w, r, b.bytes, limit)
		return bodyError(err, limit)
	}
	packed, err := b.receive(w, r, nil, limit)
	if err != nil {
		return bodyError(err, limit)
	}
	return b.unpack(r.Context(), coding, packed, limit)
}

// receive appends what is sent to dst.
func (b *body) receive(w http.ResponseWriter, r *http.Request, dst []byte, limit int) ([]byte, error) {
	control := http.NewResponseController(w)
	b.share.Receiving(func() { _ = control.SetReadDeadline(past) })
	defer b.share.Received()
	return netserver.Body{Claimed: r.ContentLength, Limit: limit, Share: b.share}.ReadBody(dst, r.Body)
}

// unpack decompresses a complete body. Only a few are decompressed at once, the shortest work
// first, because a few bytes can expand to very many.
func (b *body) unpack(ctx context.Context, coding netserver.Coding, packed []byte, limit int) error {
	ctx, cancel := context.WithTimeout(ctx, unpackTimeout)
	defer cancel()
	turn, err := b.turns.Begin(ctx)
	if err != nil {
		return errBusy
	}
	defer turn.End()
	content, err := httpapi.Decompress(coding, bytes.NewReader(packed))
	if err != nil {
		return err
	}
	b.bytes, err = netserver.Body{Claimed: -1, Limit: limit, Share: b.share}.ReadBody(b.bytes, &yieldingReader{ctx, turn, content})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errBusy
	}
	return bodyError(err, limit)
}

// unpackTimeout is how long a compressed body may wait for its turns.
const unpackTimeout = 20 * time.Second

// yieldingReader lets others go first between two reads.
type yieldingReader struct {
	ctx     context.Context //nolint:containedctx // of one request, for one call
	turn    *query.Turn
	content io.Reader
}

// Read implements io.Reader.
func (r *yieldingReader) Read(p []byte) (int, error) {
	if err := r.turn.Yield(r.ctx); err != nil {
		return 0, err
	}
	return r.content.Read(p)
}

func bodyError(err error, limit int) error {
	switch {
	case errors.Is(err, netserver.ErrTooLarge):
		return httpapi.TooLarge(int64(limit))
	case errors.Is(err, netserver.ErrBusy):
		return errBusy
	case errors.Is(err, netserver.ErrLate):
		return httpapi.Error{Status: http.StatusRequestTimeout, Message: "Unable to read the request", Details: err.Error()}
	case err != nil:
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to read the request", Details: err.Error()}
	}
	return nil
}
