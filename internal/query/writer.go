package query

import (
	"context"
	"io"
)

// A Writer gives a turn away while it writes: others compute while the client reads.
type Writer struct {
	turn *Turn
	ctx  context.Context //nolint:containedctx // of the request, whose answer is written
	w    io.Writer
	more func(written []byte) bool
}

// NewWriter returns a writer to w. After each write it waits for the turn again, unless more, which
// may be nil, reports that nothing is left to be computed.
func NewWriter(ctx context.Context, turn *Turn, w io.Writer, more func(written []byte) bool) Writer {
	return Writer{turn, ctx, w, more}
}

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	w.turn.PauseForClient()
	n, err := w.w.Write(p)
	if err == nil && (w.more == nil || w.more(p)) {
		err = w.turn.Resume(w.ctx)
	}
	return n, err
}
