package register

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// naming keeps the names of series as they are while series are registered or forgotten by them, and
// lets a rename of this process change what is kept of them. A rename holds it for moments, some
// series at a time.
type naming struct{ turns *semaphore.Weighted }

// keepers is how many calls keep the names at a time; a change counts as all of them.
const keepers = 1 << 30

func (n *naming) init() { n.turns = semaphore.NewWeighted(keepers) }

// keep enters a call that uses names. It must not be called within another one.
func (n *naming) keep(ctx context.Context) (release func(), err error) { return n.enter(ctx, 1) }

// change enters a call that changes what is kept of names.
func (n *naming) change(ctx context.Context) (release func(), err error) {
	return n.enter(ctx, keepers)
}

func (n *naming) enter(ctx context.Context, weight int64) (release func(), err error) {
	if err := n.turns.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { n.turns.Release(weight) }, nil
}
