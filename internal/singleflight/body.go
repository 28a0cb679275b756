package singleflight

import (
	"bytes"
	"context"
	"io"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A Body is an answer that was encoded once for all that asked. It does not change.
type Body struct{ parts [][]byte }

// Encode keeps what write writes, in the memory of ctx, in place of all that was taken there before. If there is no
// memory for it there is no body, and what was taken is kept. The error is the end of ctx.
func Encode(ctx context.Context, write func(io.Writer)) (*Body, error) {
	account := query.AccountOf(ctx)
	before := account.Held()
	out := &encoding{ctx: ctx}
	write(out)
	if out.err != nil {
		account.Give(account.Held() - before)
		return nil, ctx.Err()
	}
	account.Give(before)
	return &Body{out.parts}, nil
}

// WriteTo implements io.WriterTo.
func (b *Body) WriteTo(w io.Writer) (n int64, err error) {
	for _, part := range b.parts {
		wrote, err := w.Write(part)
		if n += int64(wrote); err != nil {
			return n, err
		}
	}
	return n, nil
}

// encoding is a body that is being written.
type encoding struct {
	ctx   context.Context //nolint:containedctx // of the evaluation that writes
	parts [][]byte
	err   error
}

// Write implements io.Writer. Others compute between two parts.
func (e *encoding) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if e.err = query.AccountOf(e.ctx).Take(int64(len(p))); e.err != nil {
		return 0, e.err
	}
	e.parts = append(e.parts, bytes.Clone(p))
	e.err = query.TurnOf(e.ctx).Yield(e.ctx)
	return len(p), e.err
}
