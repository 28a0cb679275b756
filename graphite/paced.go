package graphite

import (
	"context"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/turns"
)

// A pacedWriter gives up on a client that reads an answer too slowly: what is not sent yet holds memory that others want.
type pacedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begin   time.Time
	written int64
	turn    *turns.Turn     // of who writes; others have it while the client reads
	ctx     context.Context //nolint:containedctx // of the request, whose answer this is
}

const (
	// slowStart is how long a client may take before its pace counts.
	slowStart = 2 * time.Minute
	// slowestPace is in bytes per second.
	slowestPace = 256 << 10
)

func newPacedWriter(ctx context.Context, w http.ResponseWriter, turn *turns.Turn) *pacedWriter {
	return &pacedWriter{w: w, turn: turn, ctx: ctx, control: http.NewResponseController(w), begin: time.Now()}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	p.written += int64(len(b))
	allowed := slowStart + time.Duration(p.written/slowestPace)*time.Second
	_ = p.control.SetWriteDeadline(p.begin.Add(allowed)) // Where there is none, nothing is slow.
	p.turn.Pause()
	n, err := p.w.Write(b)
	if err == nil && len(b) >= jsonChunk { // There is more to be written.
		err = p.turn.Resume(p.ctx)
	}
	return n, err
}

// done takes the deadline off the connection, for its next request.
func (p *pacedWriter) done() { _ = p.control.SetWriteDeadline(time.Time{}) }
