package netserver

import (
	"io"
	"net/http"
	"time"
)

const (
	// mostDrained and drainTime bound how much of an unwanted body is read nevertheless.
	mostDrained = 256 << 20
	drainTime   = 30 * time.Second
)

// Drain reads and drops, for a while, what a client is still sending of a refused body. A client
// that sends all before it reads would see a reset when the connection is closed, and not the
// answer. A client that waits before it sends (Expect) gets the answer at once.
func Drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" || r.ContentLength > mostDrained {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, mostDrained)
	_ = control.SetReadDeadline(time.Time{})
}
