package read

import (
	"context"
	"runtime"
	"sync"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/turns"
)

// A partWork encodes parts of a list on all cores, and joins the pieces in the order of the list.
// No more than one piece for each core is in memory.
type partWork struct {
	total int // length of the list
	// produce appends the piece of list[from:to] to buf and returns how many samples it contains.
	// Several goroutines call it.
	produce func(ctx context.Context, from, to int, buf []byte) (piece []byte, samples int, err error)
	// consume takes the pieces one after the other. The caller reuses the memory of a piece
	// afterwards.
	consume func(piece []byte, samples int) error

	mu      sync.Mutex
	turn    sync.Cond
	next    int // what is given out next
	done    int // consumed so far
	samples int
	failed  bool
}

// Sizes of a part, in series: the first ones, while the length of series is not known, and the
// largest one. A later part should have about partSamples samples.
const (
	firstPart   = 64
	largestPart = 1024
	partSamples = 128 << 10
)

// run returns the first error.
func (w *partWork) run(ctx context.Context) error {
	w.turn.L = &w.mu
	workers := min(runtime.GOMAXPROCS(0), (w.total+firstPart-1)/firstPart)
	return turns.Workers(ctx, workers, func(ctx context.Context, _ int, turn *turns.Turn) error { return w.work(ctx, turn) })
}

// work computes while it has a turn. It gives the turn away while a piece waits for its place or
// for the client.
func (w *partWork) work(ctx context.Context, turn *turns.Turn) error {
	var buf []byte
	for {
		if err := turn.Resume(ctx); err != nil {
			return reply.QueryError(ctx, "wait for other queries", err)
		}
		from, to, ok := w.take()
		if !ok {
			return nil
		}
		piece, samples, err := w.produce(ctx, from, to, buf[:0])
		turn.Pause()
		if err := w.give(from, to, piece, samples, err); err != nil {
			return err
		}
		buf = piece
	}
}

func (w *partWork) take() (from, to int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed || w.next == w.total {
		return 0, 0, false
	}
	size := firstPart
	if w.samples > 0 {
		size = min(max(1, partSamples*w.done/w.samples), largestPart)
	}
	from, to = w.next, min(w.next+size, w.total)
	w.next = to
	return from, to, true
}

// give hands over a piece when all earlier ones are consumed. An error of any goroutine ends all of
// them.
func (w *partWork) give(from, to int, piece []byte, samples int, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.turn.Broadcast()
	for err == nil && !w.failed && w.done != from {
		w.turn.Wait()
	}
	if err == nil && !w.failed {
		err = w.consume(piece, samples)
	}
	if err != nil {
		w.failed = true
		return err
	}
	w.done = to
	w.samples += samples
	return nil
}
