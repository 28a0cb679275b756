package query_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

func TestShares(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for _, c := range []struct{ n, worth, want int }{
		{0, 10, 1}, {9, 10, 1}, {10, 10, min(2, cores)}, {1 << 30, 10, cores},
	} {
		if got := query.Shares(c.n, c.worth); got != c.want {
			t.Errorf("Shares(%d, %d) = %d, want %d", c.n, c.worth, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for shares := 1; shares <= 9; shares++ {
			done := make([]atomic.Int32, n)
			var mu sync.Mutex
			begins := map[int]int{} // by share
			query.Split(n, shares, func(share, from, to int) {
				mu.Lock()
				begins[share] = from
				mu.Unlock()
				for i := from; i < to; i++ {
					done[i].Add(1)
				}
			})
			for i := range done {
				if got := done[i].Load(); got != 1 {
					t.Errorf("%d pieces in %d shares: piece %d is done %d times", n, shares, i, got)
				}
			}
			for share := 1; share < shares; share++ {
				if len(begins) != shares || begins[share] < begins[share-1] {
					t.Errorf("%d pieces in %d shares: they begin at %v", n, shares, begins)
				}
			}
		}
	}
}

// TestWorkers has more workers than turns: each works in a turn of its own, the caller has its turn
// again at the end.
func TestWorkers(t *testing.T) {
	shared := query.NewTurns(1)
	for _, n := range []int{0, 1, 2, 5} {
		turn, err := shared.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var busy, most, calls atomic.Int32
		err = query.Workers(query.WithTurn(t.Context(), turn), n, func(ctx context.Context, worker int, own *query.Turn) error {
			if err := own.Resume(ctx); err != nil {
				return err
			}
			calls.Add(1 << (4 * worker))
			most.Store(max(most.Load(), busy.Add(1)))
			runtime.Gosched()
			busy.Add(-1)
			return nil
		})
		want := int32(0)
		for worker := range max(1, n) {
			want += 1 << (4 * worker)
		}
		if err != nil || calls.Load() != want || most.Load() != 1 {
			t.Errorf("%d workers: %v, calls %x, want %x; %d at once", n, err, calls.Load(), want, most.Load())
		}
		turn.End()
	}
}

func TestWorkersFail(t *testing.T) {
	failed := errors.New("failed")
	err := query.Workers(t.Context(), 3, func(ctx context.Context, worker int, _ *query.Turn) error {
		if worker == 1 {
			return failed
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, failed) {
		t.Errorf("Workers = %v, want the first error", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	shared := query.NewTurns(1)
	if _, err := shared.Begin(t.Context()); err != nil { // and keep it
		t.Fatal(err)
	}
	turn := shared.Later()
	err = query.Workers(query.WithTurn(ended, turn), 2, func(context.Context, int, *query.Turn) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Workers, cancelled = %v", err)
	}
}
