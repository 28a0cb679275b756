package graphite

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/budget"
)

const (
	// maxBody bounds the body of a request in bytes.
	maxBody = 8 << 20
	// mostDrained and drainTime bound how much of a body that is too large is read all the same: whoever is still sending when the
	// connection is closed sees a reset and not the answer.
	mostDrained = 256 << 20
	drainTime   = 30 * time.Second
	// textCopies is how much memory parameters cost for each byte they come in: the text, its parts, their places in the form.
	textCopies = 4
)

// errBodyTooLarge ends the reading of a body.
var errBodyTooLarge = errors.New("the body is too large")

// body is a request's body: bounded, and charged to the request's account as it is read.
type body struct {
	from    io.Reader
	account *budget.Account
	left    int64
}

func newBody(ctx context.Context, r io.Reader) *body {
	return &body{from: r, account: budget.From(ctx), left: maxBody}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errBodyTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errBodyTooLarge
	}
	if taken := b.account.Take(textCopies * int64(n)); taken != nil {
		return 0, taken
	}
	return n, err
}

// drain reads what a client is still sending, for a while.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" && r.ContentLength > maxBody {
		return // It waits for a word before it sends, and gets the answer instead.
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, mostDrained)
	_ = control.SetReadDeadline(time.Time{})
}
