package netserver

import (
	"net/http"
	"time"
)

// BodyTimeout is how long a client may take for one body.
const BodyTimeout = time.Minute

// Receive appends the body of a request to dst, up to limit bytes, and takes its memory from share.
// The deadline is the body's own: a read timeout of the server would also end the handlers of long
// queries.
func Receive(dst []byte, w http.ResponseWriter, r *http.Request, limit int, share *Share) ([]byte, error) {
	control := http.NewResponseController(w)
	// a server without deadlines (tests) has slow senders wait
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	share.Receiving(func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	defer share.Received()
	return Body{Claimed: r.ContentLength, Limit: limit, Share: share}.ReadBody(dst, r.Body)
}
