package query

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShortGoesFirst: with long requests holding all turns and more of them waiting, a short one
// waits for the end of a slice at most.
func TestShortGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		ctx, cancel := context.WithCancel(t.Context())
		var long sync.WaitGroup
		var mu sync.Mutex
		computing, most := 0, 0
		for range 20 {
			long.Go(func() {
				turn, err := turns.Begin(ctx)
				if err != nil {
					return
				}
				defer turn.End()
				for turn.Yield(ctx) == nil {
					mu.Lock()
					computing++
					most = max(most, computing)
					mu.Unlock()
					time.Sleep(10 * time.Millisecond) // computes
					mu.Lock()
					computing--
					mu.Unlock()
				}
			})
		}
		time.Sleep(5 * time.Second)
		begin := time.Now()
		turn, err := turns.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited > 2*slice {
			t.Errorf("a short request waited for %v", waited)
		}
		turn.End()
		cancel()
		long.Wait()
		if most != 2 {
			t.Errorf("%d computed at once, want 2", most)
		}
		if turns.free != 2 || len(turns.queue) != 0 {
			t.Errorf("at the end %d turns are free and %d wait", turns.free, len(turns.queue))
		}
	})
}

// TestRequestsThatDoNotYield: while requests hold all turns and never yield, short ones are let in
// additionally, one after the other, and not too many of those that do not yield either. At the end
// all turns are free again.
func TestRequestsThatDoNotYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		ctx, cancel := context.WithCancel(t.Context())
		var stubborn sync.WaitGroup
		var computing atomic.Int64
		for range 9 {
			stubborn.Go(func() {
				turn, err := turns.Begin(ctx)
				if err != nil {
					return
				}
				defer turn.End()
				computing.Add(1)
				<-ctx.Done()
			})
		}
		for range 5 {
			begin := time.Now()
			turn, err := turns.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited > time.Second {
				t.Errorf("a short request waited for %v", waited)
			}
			turn.End()
			time.Sleep(time.Second)
		}
		if n := computing.Load(); n != 9 {
			t.Errorf("%d of 9 compute", n)
		}
		for range 9 {
			stubborn.Go(func() {
				if turn, err := turns.Begin(ctx); err == nil {
					computing.Add(1)
					defer turn.End()
					<-ctx.Done()
				}
			})
		}
		time.Sleep(time.Minute)
		if n := computing.Load(); n != 2+2*extra {
			t.Errorf("%d compute at once, want %d", n, 2+2*extra)
		}
		cancel()
		stubborn.Wait()
		if turns.free != 2 || len(turns.queue) != 0 {
			t.Errorf("at the end %d turns are free and %d wait", turns.free, len(turns.queue))
		}
	})
}

// TestCancelledWait: a request that stops waiting takes no turn, even if it gets one at that moment.
func TestCancelledWait(t *testing.T) {
	turns := NewTurns(1)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
			defer cancel()
			turn, err := turns.Begin(ctx)
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			for range 3 {
				turn.Pause()
				_ = turn.Resume(ctx)
			}
			turn.End()
		})
	}
	all.Wait()
	if turns.free != 1 || len(turns.queue) != 0 {
		t.Errorf("%d turns are free and %d wait, want 1 and none", turns.free, len(turns.queue))
	}
}

// TestNoTurn: without a turn in the context, all calls succeed as long as the context does.
func TestNoTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	turn := TurnOf(ctx)
	turn.Pause()
	if err := turn.Resume(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	if err := turn.Yield(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Yield = %v, want %v", err, context.Canceled)
	}
	own, err := NewTurns(1).Begin(t.Context())
	if err != nil || TurnOf(WithTurn(t.Context(), own)) != own {
		t.Errorf("From(With(turn)) is another turn, or none began: %v", err)
	}
}

// TestLasting: a connection that works without a pause goes after those that begin, and counts as
// new again when it has waited for as long as it worked.
func TestLasting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		ctx := t.Context()
		busy, quiet := turns.Lasting(), turns.Lasting()
		work := func(turn *Turn, d time.Duration) {
			t.Helper()
			if err := turn.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			turn.Pause()
		}
		work(busy, time.Second)
		work(quiet, time.Millisecond)
		holder, err := turns.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var first []*Turn
		var all sync.WaitGroup
		for _, turn := range []*Turn{busy, quiet} {
			all.Go(func() {
				if turn.Resume(ctx) == nil {
					first = append(first, turn)
					turn.End()
				}
			})
			synctest.Wait()
		}
		holder.End()
		all.Wait()
		if len(first) != 2 || first[0] != quiet {
			t.Error("who worked without a pause went first")
		}
		time.Sleep(2 * time.Second)
		work(busy, 0)
		if busy.used != 0 {
			t.Errorf("after a pause %v are still counted", busy.used)
		}
		(*Turns)(nil).Lasting().Pause()
	})
}
