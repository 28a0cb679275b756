package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A pacedWriter gives up on a client that reads an answer too slowly: what is not sent yet holds
// memory that others want.
type pacedWriter struct {
	w       query.Writer
	control *http.ResponseController
	begin   time.Time
	written int64
}

const (
	// slowStart is how long a client may take before its pace counts.
	slowStart = 2 * time.Minute
	// slowestPace is in bytes per second.
	slowestPace = 256 << 10
)

func newPacedWriter(ctx context.Context, w http.ResponseWriter, turn *query.Turn) *pacedWriter {
	more := func(written []byte) bool { return len(written) >= pyjson.Chunk }
	return &pacedWriter{w: query.NewWriter(ctx, turn, w, more), control: http.NewResponseController(w), begin: time.Now()}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	p.written += int64(len(b))
	allowed := slowStart + time.Duration(p.written/slowestPace)*time.Second
	_ = p.control.SetWriteDeadline(p.begin.Add(allowed)) // Where there is none, nothing is slow.
	return p.w.Write(b)
}

// done takes the deadline off the connection, for its next request.
func (p *pacedWriter) done() { _ = p.control.SetWriteDeadline(time.Time{}) }
