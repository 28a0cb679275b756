package query

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// processor computes as one core does for several goroutines: each has its share.
type processor struct{ busy atomic.Int64 }

// compute takes so much time of one core, of which there are cores.
func (p *processor) compute(ctx context.Context, turn *Turn, cores int, work time.Duration) error {
	const step = 10 * time.Millisecond
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

// busyTurns returns turns of a machine without an idle core, and how many large requests have places.
func busyTurns(n int) (*Turns, int) {
	s := NewTurns(n)
	s.idle = func() bool { return false }
	return s, min(n, runtime.GOMAXPROCS(0))
}

// TestLargeOnesEnd: of 64 large requests with a timeout as many are answered as if they were computed
// one after the other, and the others are refused before the end of their time, known costs or not.
func TestLargeOnesEnd(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known=%v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { largeOnesEnd(t, known) })
		})
	}
}

func largeOnesEnd(t *testing.T, known bool) {
	s, cores := busyTurns(8)
	const work, timeout = 2 * time.Second, 20 * time.Second
	var p processor
	var all sync.WaitGroup
	var answered, early, wasted atomic.Int64
	begin := time.Now()
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
				err = p.compute(ctx, turn, cores, work)
			}
			switch {
			case err == nil:
				answered.Add(1)
			case errors.Is(err, ErrLate) && time.Since(begin) < timeout*3/4:
				early.Add(1)
				var late lateError
				// All that are answered take work/cores each, and it would have been after them.
				if most := 64 * work / time.Duration(cores); !errors.As(err, &late) || late.Wait() < timeout/2 || late.Wait() > most+timeout {
					t.Errorf("refused, as it would begin after %v", late.Wait())
				}
			}
			if err != nil {
				wasted.Add(turn.request.used.Load())
			}
		})
	}
	all.Wait()
	// Who has computed before its cost was known has used time that others lack.
	want := int64(cores) * int64(timeout/work)
	if !known {
		want = want * 3 / 4
	}
	if got := answered.Load(); got < min(64, want)-int64(cores) {
		t.Errorf("%d are answered, want %d", got, want)
	}
	if got := early.Load(); known && got+answered.Load() < 64/2 {
		t.Errorf("%d are answered and %d refused early, of 64", answered.Load(), got)
	}
	if s.free != 8 || len(s.queue) != 0 || len(s.line) != 0 || s.taken != 0 || len(s.large) != 0 {
		t.Errorf("at the end %d turns are free, %d and %d wait, %d places are taken", s.free, len(s.queue), len(s.line), s.taken)
	}
}

// TestSmallAmongLarge: a request that is small, and one that is expected to be, wait for none of
// those that are large.
func TestSmallAmongLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(8)
		ctx, cancel := context.WithCancel(t.Context())
		var p processor
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				turn, err := s.Begin(ctx)
				if err != nil {
					return
				}
				defer turn.End()
				turn.Expect(int64(time.Minute / firstPrice))
				_ = p.compute(ctx, turn, cores, time.Minute)
			})
		}
		time.Sleep(3 * time.Second)
		for _, work := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second} {
			begin := time.Now()
			turn, err := s.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			turn.Expect(int64(work / firstPrice))
			err = p.compute(ctx, turn, cores, work)
			turn.End()
			if took := time.Since(begin); err != nil || took > 3*work+2*slice {
				t.Errorf("work of %v took %v: %v", work, took, err)
			}
		}
		cancel()
		all.Wait()
	})
}

// TestClientsShare: a client with one large request after the other is answered beside one with a row
// of them, and of one client's the cheaper go first.
func TestClientsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(1)
		var p processor
		var all sync.WaitGroup
		var mu sync.Mutex
		var order []string
		ask := func(client, name string, work time.Duration) {
			ctx := WithClient(t.Context(), client)
			turn, err := s.Begin(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer turn.End()
			turn.Expect(int64(work / firstPrice))
			if err := p.compute(ctx, turn, cores, work); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}
		for range 20 {
			all.Go(func() { ask("192.0.2.1:1", "many", 5*time.Second) })
		}
		synctest.Wait()
		all.Go(func() { ask("192.0.2.1:2", "cheap", time.Second) })
		for range 3 {
			time.Sleep(time.Millisecond)
			begin := time.Now()
			ask("192.0.2.2:1", "few", 5*time.Second)
			if took := time.Since(begin); took > 18*time.Second {
				t.Errorf("the client that asks one at a time waited %v for 5s", took)
			}
		}
		all.Wait()
		for i, name := range order {
			if name == "cheap" && i > 3 {
				t.Errorf("the cheaper one is number %d of %v", i, order)
			}
		}
	})
}

// TestLineIsBounded: of too many large requests those go that would be last: of the client with most.
func TestLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busyTurns(1)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var refused, of atomic.Int64
		wait := func(client string, late *atomic.Int64) {
			turn, err := s.Begin(WithClient(ctx, client))
			if err == nil {
				turn.Expect(int64(time.Second / firstPrice))
				err = turn.Yield(WithClient(ctx, client))
				turn.Pause()
				<-ctx.Done()
			}
			if errors.Is(err, ErrLate) {
				late.Add(1)
			}
			turn.End()
		}
		for range mostInLine + 11 {
			all.Go(func() { wait("many", &refused) })
		}
		synctest.Wait()
		all.Go(func() { wait("one", &of) })
		synctest.Wait()
		cancel()
		all.Wait()
		if refused.Load() < 10 || of.Load() != 0 {
			t.Errorf("%d of many and %d of one are refused", refused.Load(), of.Load())
		}
	})
}

// TestIdleCores: while those with places wait for the store and cores are idle, others begin, up to
// the number of turns; then there are as many places as before.
func TestIdleCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cores := busyTurns(4)
		s.idle = func() bool { return true }
		var all sync.WaitGroup
		var reading, most atomic.Int64
		for range 12 {
			all.Go(func() {
				turn, err := s.Begin(t.Context())
				if err != nil {
					return
				}
				defer turn.End()
				turn.Expect(int64(time.Second / firstPrice))
				if turn.Yield(t.Context()) == nil {
					most.Store(max(most.Load(), reading.Add(1)))
					time.Sleep(20 * time.Second)
					reading.Add(-1)
				}
			})
		}
		all.Wait()
		if most.Load() != 4 || s.open != cores {
			t.Errorf("%d read at once, want 4; in the end there are %d places", most.Load(), s.open)
		}
	})
}

// TestWriterLeavesPlace: a client that does not read keeps no place.
func TestWriterLeavesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busyTurns(1)
		slow, err := s.Begin(t.Context())
		if err != nil || slow.Expect(int64(time.Minute/firstPrice)) {
			t.Fatal("the first one waits", err)
		}
		read := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_, _ = NewWriter(t.Context(), slow, writerFunc(func(p []byte) (int, error) { <-read; return len(p), nil }), nil).Write(nil)
			slow.End()
		})
		synctest.Wait()
		other, err := s.Begin(t.Context())
		if err != nil || other.Expect(int64(time.Minute/firstPrice)) {
			t.Error("the place is taken while the client does not read", err)
		}
		other.End()
		close(read)
		all.Wait()
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestPriceIsLearned: what a unit costs is that of the requests of late, and not of those that failed
// or have few units.
func TestPriceIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busyTurns(1)
		run := func(ctx context.Context, units int64, work time.Duration) {
			turn, err := s.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			turn.Expect(units)
			time.Sleep(work)
			turn.Pause()
			_ = turn.Resume(ctx)
			turn.End()
		}
		for range 200 {
			run(t.Context(), 1<<20, 200<<20)
			run(t.Context(), 10, time.Millisecond)
		}
		if s.price.each < 150 || s.price.each > 201 {
			t.Errorf("a unit costs %v ns, want about 200", s.price.each)
		}
	})
}

// TestErrLatePasses: it is answered as a lack of memory that passes.
func TestErrLatePasses(t *testing.T) {
	account := NewBudget(0).Open()
	defer account.Close()
	if err := busy(WithAccount(t.Context(), account), fmt.Errorf("wait: %w", ErrLate)); !errors.Is(err, ErrBusy) || !account.Busy() {
		t.Errorf("%v is nothing that passes", err)
	}
}

// TestDetached: what goes on without its request keeps the end of its time.
func TestDetached(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	want, _ := ctx.Deadline()
	detached := Detached(ctx)
	cancel()
	if got, ok := deadlineOf(detached); detached.Err() != nil || !ok || !got.Equal(want) {
		t.Errorf("the end is %v, want %v; %v", got, want, detached.Err())
	}
}
