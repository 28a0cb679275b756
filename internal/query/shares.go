package query

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Shares is into how many shares n pieces of work are cut: one for each core, if each has at least
// worth pieces for it to be worth a goroutine.
func Shares(n, worth int) int { return max(1, min(runtime.GOMAXPROCS(0), 1+n/worth)) }

// Split cuts the numbers below n into shares, which follow one another, and calls do for all of
// them at once. It returns when all have returned. The last share is done by the calling goroutine.
func Split(n, shares int, do func(share, from, to int)) {
	var others sync.WaitGroup
	for share := range shares - 1 {
		others.Go(func() { do(share, n*share/shares, n*(share+1)/shares) })
	}
	do(shares-1, n*(shares-1)/shares, n)
	others.Wait()
}

// Workers calls work in n goroutines. Each has a fork of the turn of ctx, which begins with Resume;
// until they end, other requests may have the caller's own turn. The first error, or the end of
// ctx, ends the context of all workers and is returned. If n is 1 or less, the calling goroutine
// does the work with its own turn.
func Workers(ctx context.Context, n int, work func(ctx context.Context, worker int, turn *Turn) error) error {
	turn := TurnOf(ctx)
	if n <= 1 {
		return work(ctx, 0, turn)
	}
	turn.Pause()
	group, working := errgroup.WithContext(ctx)
	for worker := range n {
		group.Go(func() error {
			turn := turn.Fork()
			defer turn.End()
			return work(working, worker, turn)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return turn.Resume(ctx)
}
