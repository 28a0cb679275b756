package api

import (
	"context"
	"io"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
)

// shared returns the reply to a request, which equal ones that are asked at the same time get too.
func (a *renderer) shared(ctx context.Context, key string, compute func(ctx context.Context) (*exchange.Reply, error)) (*exchange.Reply, error) {
	share, err := a.replies.Reply(ctx, key, compute)
	if err != nil {
		return nil, err
	}
	own := *share.Answer
	own.Release = share.Release
	return &own, nil
}

// encodedOnce returns a reply with its body in memory, which is encoded once for all that get it. A body
// for which there is no memory is encoded by each.
func encodedOnce(ctx context.Context, p *exchange.Reply) (*exchange.Reply, error) {
	body, err := singleflight.Encode(ctx, func(w io.Writer) {
		j := pyjson.New(w)
		j.Pretty, j.Raw = p.Pretty, p.Raw
		p.Write(j)
		j.Flush()
	})
	if body == nil {
		return p, err
	}
	out := *p
	out.Pretty = false
	out.Write = func(j *pyjson.Writer) { _, _ = body.WriteTo(j) }
	return &out, nil
}
