package exchange

import (
	"context"
	"errors"
	"io"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

const (
	// maxBody bounds the body of a request in bytes.
	maxBody = 8 << 20
	// textCopies is how much memory parameters cost for each byte they come in: the text, its
	// parts, their places in the form.
	textCopies = 4
)

// errBodyTooLarge ends the reading of a body.
var errBodyTooLarge = errors.New("the body is too large")

// body is a request's body: bounded, and charged to the request's account as it is read.
type body struct {
	from    io.Reader
	account *query.Account
	left    int64
}

func newBody(ctx context.Context, r io.Reader, limit int) *body {
	return &body{from: r, account: query.AccountOf(ctx), left: int64(limit)}
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
