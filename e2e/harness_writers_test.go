package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// writers send requests until they are stopped. Each repeats a request until it is acknowledged.
type writers struct {
	t       testing.TB
	stop    context.CancelFunc
	running sync.WaitGroup
	acked   []atomic.Int64 // requests of each writer
	retries atomic.Int64
}

func newWriters(t testing.TB, n int) *writers {
	return &writers{t: t, acked: make([]atomic.Int64, n)}
}

// start has each of the writers write, until Stop or the end of the test.
func (l *writers) start(write func(ctx context.Context, w int)) {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.stop = cancel
	for w := range l.acked {
		l.running.Go(func() { write(ctx, w) })
	}
	l.t.Cleanup(l.Stop)
}

// Stop ends the writers, also in the middle of a request.
func (l *writers) Stop() {
	l.stop()
	l.running.Wait()
}

// Requests returns how many requests are acknowledged.
func (l *writers) Requests() (all int64) {
	for w := range l.acked {
		all += l.acked[w].Load()
	}
	return all
}

// Retries returns how many requests were not acknowledged.
func (l *writers) Retries() int64 { return l.retries.Load() }

// again notes a request that was not acknowledged, and waits a little: a closed port refuses at once. It
// is false when the writers are stopped.
func (l *writers) again(ctx context.Context) bool {
	l.retries.Add(1)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(20 * time.Millisecond):
		return true
	}
}

// waitMore waits until n more of what is counted are acknowledged.
func waitMore(t testing.TB, n int64, what string, acked func() int64) {
	t.Helper()
	want := acked() + n
	eventually(t, 2*waitTimeout, fmt.Sprintf("%d more %s acknowledged", n, what), func() error {
		if have := acked(); have < want {
			return fmt.Errorf("%d are missing", want-have)
		}
		return nil
	})
}
