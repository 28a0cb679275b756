package query

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// computeFinely is compute in steps of a millisecond.
func (p *processor) computeFinely(ctx context.Context, turn *Turn, cores int, work time.Duration) error {
	const step = time.Millisecond
	for done := time.Duration(0); done < work; done += step {
		if err := turn.Yield(ctx); err != nil {
			return err
		}
		n := p.busy.Add(1)
		time.Sleep(step * time.Duration(max(n, int64(cores))) / time.Duration(cores))
		p.busy.Add(-1)
	}
	return nil
}

// checkEmpty reports what is left of turns that nobody has.
func (t *Turns) checkEmpty(tt *testing.T, turns int) {
	tt.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free != turns || len(t.queue) != 0 || len(t.line) != 0 || t.taken != 0 || t.middle.taken != 0 || len(t.middle.line) != 0 || len(t.clients) != 0 {
		tt.Errorf("at the end %d turns are free, %d, %d and %d wait, %d and %d places are taken, %d clients are known",
			t.free, len(t.queue), len(t.line), len(t.middle.line), t.taken, t.middle.taken, len(t.clients))
	}
}

// TestMiddleOnesEnd: of 64 requests of 75 ms with a timeout as many are answered as if they were computed
// one after the other. Where costs are not known, all of them compute for the first steps.
func TestMiddleOnesEnd(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known=%v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { middleOnesEnd(t, known) })
		})
	}
}

func middleOnesEnd(t *testing.T, known bool) {
	s, cores := busyTurns(8)
	const work, timeout = 75 * time.Millisecond, 700 * time.Millisecond
	var p processor
	var all sync.WaitGroup
	var answered atomic.Int64
	for range 64 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			turn, err := s.Begin(ctx)
			if err == nil {
				defer turn.End()
				if known {
					turn.Expect(int64(work / firstPrice))
				}
				err = p.computeFinely(ctx, turn, cores, work)
			}
			if err == nil {
				answered.Add(1)
			}
		})
	}
	all.Wait()
	want := int64(cores) * int64(timeout/work)
	if !known {
		want = int64(cores) * int64((timeout-64*secondStep/time.Duration(cores))/(work-secondStep))
	}
	if got := answered.Load(); got < min(64, want)-int64(cores) {
		t.Errorf("%d are answered, want %d", got, want)
	}
	s.checkEmpty(t, 8)
}

// TestSmallAmongMiddle: requests of some milliseconds wait for none of middle size, and those for none that are
// large.
func TestSmallAmongMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(8)
		ctx, cancel := context.WithCancel(t.Context())
		var p processor
		var all sync.WaitGroup
		crowd := func(n int, work time.Duration) {
			for range n {
				all.Go(func() {
					for ctx.Err() == nil {
						turn, err := s.Begin(ctx)
						if err == nil {
							turn.Expect(int64(work / firstPrice))
							_ = p.computeFinely(ctx, turn, cores, work)
						}
						turn.End()
					}
				})
			}
		}
		took := func(work time.Duration) time.Duration {
			begin := time.Now()
			turn, err := s.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer turn.End()
			turn.Expect(int64(work / firstPrice))
			if err := p.computeFinely(ctx, turn, cores, work); err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		crowd(10, time.Minute)
		time.Sleep(time.Second)
		if got := took(75 * time.Millisecond); got > 3*75*time.Millisecond {
			t.Errorf("work of 75ms among large ones took %v", got)
		}
		crowd(64, 75*time.Millisecond)
		time.Sleep(time.Second)
		for _, work := range []time.Duration{time.Millisecond, 9 * time.Millisecond} {
			if got := took(work); got > 5*work {
				t.Errorf("work of %v among middle and large ones took %v", work, got)
			}
		}
		cancel()
		all.Wait()
		s.checkEmpty(t, 8)
	})
}

// TestMiddleClientsShare: who asks for one of middle size after the other does not wait for the row of another
// client.
func TestMiddleClientsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(8)
		const work = 75 * time.Millisecond
		var p processor
		var all sync.WaitGroup
		ask := func(client string) {
			ctx := WithClient(t.Context(), client)
			turn, err := s.Begin(ctx)
			if err != nil {
				t.Error(err)
			}
			defer turn.End()
			turn.Expect(int64(work / firstPrice))
			if err := p.computeFinely(ctx, turn, cores, work); err != nil {
				t.Error(err)
			}
		}
		for range 200 {
			all.Go(func() { ask("192.0.2.1:1") })
		}
		time.Sleep(time.Second)
		for range 5 {
			begin := time.Now()
			ask("192.0.2.2:1")
			if took := time.Since(begin); took > 4*work {
				t.Errorf("one client waited %v for %v", took, work)
			}
		}
		all.Wait()
		s.checkEmpty(t, 8)
	})
}

// TestMiddleLeave: those that give up while they wait, or wait for a client, keep no place.
func TestMiddleLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(8)
		var p processor
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond)
				defer cancel()
				turn, err := s.Begin(ctx)
				if err != nil {
					return
				}
				defer turn.End()
				turn.Expect(int64(40 * time.Millisecond / firstPrice))
				fork := turn.Fork() // of two cores
				all.Go(func() {
					defer fork.End()
					_ = fork.Resume(ctx)
				})
				if p.computeFinely(ctx, turn, cores, time.Duration(i%3)*70*time.Millisecond) == nil && i%2 == 0 {
					turn.PauseForClient()
					time.Sleep(time.Second)
					_ = turn.Resume(ctx)
				}
			})
		}
		all.Wait()
		s.checkEmpty(t, 8)
	})
}

// TestMiddleIdleCores: while cores are idle, because those of middle size wait for the store, all that have turns
// compute.
func TestMiddleIdleCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busyTurns(4)
		s.idle = func() bool { return true }
		var all sync.WaitGroup
		begin := time.Now()
		for range 12 {
			all.Go(func() {
				turn, err := s.Begin(t.Context())
				if err != nil {
					t.Error(err)
				}
				defer turn.End()
				turn.Expect(int64(50 * time.Millisecond / firstPrice))
				if err := turn.Yield(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(50 * time.Millisecond)
			})
		}
		all.Wait()
		turns := min(4, mostPerCore*runtime.GOMAXPROCS(0))
		if took, want := time.Since(begin), 50*time.Millisecond*time.Duration((12+turns-1)/turns); took > want {
			t.Errorf("they took %v, want %v", took, want)
		}
		s.checkEmpty(t, 4)
	})
}
