package listen

import (
	"io"
	"net/http"
	"time"
)

const (
	// mostDrained and drainTime bound how much of a body that nobody wants is read all the same.
	mostDrained = 256 << 20
	drainTime   = 30 * time.Second
)

// Drain reads and drops what a client is still sending of a body that is refused, for a while: whoever sends all before it reads would see
// a reset when the connection is closed, and not the answer. A client that waits for a word before it sends (Expect) gets the answer instead.
func Drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" || r.ContentLength > mostDrained {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, mostDrained)
	_ = control.SetReadDeadline(time.Time{})
}
