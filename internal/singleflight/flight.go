package singleflight

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A flight is one evaluation.
type flight[V any] struct {
	question   Question[V]
	ctx        context.Context //nolint:containedctx // of the evaluation, which no request's context ends
	cancel     context.CancelFunc
	account    *query.Account
	turn       *query.Turn
	holds      bool // the evaluation begins with a turn
	evaluation *query.Evaluation
	left       func() // takes it out of its line

	// These are guarded by the group's mu.
	number uint64 // of its begin; 0: it has not begun
	users  int
	closed bool

	watch Watch // since its begin; nil: changes are not known
	done  chan struct{}

	// These are set before done is closed.
	answer   V
	err      error
	panicked any
}

// begin begins an evaluation. It needs mu.
func (g *Group[K, V]) begin(f *flight[V], late bool) {
	g.begun++
	f.number = g.begun
	if f.question.Watch != nil {
		f.watch = f.question.Watch()
	}
	go func() {
		f.compute(late)
		g.mu.Lock()
		defer g.mu.Unlock()
		f.left()
		close(f.done)
		if f.users == 0 {
			f.close()
		}
	}()
}

// compute answers the question.
func (f *flight[V]) compute(late bool) {
	defer func() {
		f.turn.End()
		f.evaluation.End()
		if f.watch != nil {
			f.watch.End()
		}
		if p := recover(); p != nil {
			f.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
		}
	}()
	if f.holds {
		if f.err = f.turn.Resume(f.ctx); f.err != nil {
			return
		}
	}
	f.answer, f.err = f.question.Compute(f.ctx, late)
}

// leave counts a user less. An evaluation without users ends; leave reports whether it has to wind
// down. It needs mu.
func (g *Group[K, V]) leave(f *flight[V]) (winding bool) {
	if f.users--; f.users > 0 {
		return false
	}
	f.left()
	f.cancel()
	select {
	case <-f.done:
	default:
		if f.number > 0 {
			return true // it closes itself
		}
	}
	f.close()
	return false
}

// close gives back what an evaluation holds. It needs the group's mu.
func (f *flight[V]) close() {
	if f.closed {
		return
	}
	f.closed = true
	f.cancel()
	f.evaluation.End()
	f.account.Close()
	f.question.end()
}

func (q *Question[V]) end() {
	if q.End != nil {
		q.End()
	}
}

// remove takes an evaluation out of its line. The next one begins. It needs mu.
func (g *Group[K, V]) remove(key K, f *flight[V]) {
	l := g.lines[key]
	switch {
	case l == nil:
	case l.next == f:
		l.next = nil
	case l.current != f:
	case l.next == nil:
		delete(g.lines, key)
	default:
		l.current, l.next = l.next, nil
		g.begin(l.current, true)
	}
}
