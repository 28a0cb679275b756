package graphite

import (
	"bytes"
	"context"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/turns"
)

// A heldBody keeps what is written, in the memory of the account of ctx.
type heldBody struct {
	ctx   context.Context //nolint:containedctx // of the evaluation that writes
	parts [][]byte
	err   error
}

// Write implements io.Writer. Others compute between two parts.
func (h *heldBody) Write(p []byte) (int, error) {
	if h.err = budget.From(h.ctx).Take(int64(len(p))); h.err != nil {
		return 0, h.err
	}
	h.parts = append(h.parts, bytes.Clone(p))
	h.err = turns.From(h.ctx).Yield(h.ctx)
	return len(p), h.err
}
