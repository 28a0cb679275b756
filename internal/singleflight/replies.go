package singleflight

import (
	"context"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Replies answers requests by keys that have all that an answer depends on but the time. What changes
// an answer is not known before it is computed, so an equal request never joins an evaluation that
// began before it came: all that wait for one are answered by the next.
type Replies[V any] struct {
	group *Group[string, V]
	// encoded returns an answer that several requests may wait for as one that is encoded once; nil:
	// each encodes it.
	encoded func(ctx context.Context, answer V) (V, error)
}

// NewReplies returns Replies. encoded, which may be nil, encodes an answer that several may wait for.
func NewReplies[V any](encoded func(ctx context.Context, answer V) (V, error)) *Replies[V] {
	return &Replies[V]{New[string, V](OfOneEvaluation), encoded}
}

// Reply returns the answer to a request, which equal ones get too. The memory of ctx pays for the key.
// compute reads the clock: it may begin later than the request. After an error there is no share.
func (r *Replies[V]) Reply(ctx context.Context, key string, compute func(context.Context) (V, error)) (*Share[V], error) {
	if err := query.AccountOf(ctx).Take(int64(len(key))); err != nil {
		return nil, err
	}
	share, err := r.group.Do(ctx, key, Question[V]{Compute: func(ctx context.Context, late bool) (V, error) {
		answer, err := compute(ctx)
		if err != nil || !late || r.encoded == nil {
			return answer, err
		}
		return r.encoded(ctx, answer)
	}})
	if share != nil && err != nil {
		share.Release()
		return nil, err
	}
	return share, err
}
