// Package singleflight has equal questions that are asked at the same time answered by one evaluation.
//
// A question joins the evaluation that is under way only if nothing has changed since that began, so
// an answer is never older than what was acknowledged before its question was asked. Questions that
// may not join wait, and one evaluation more answers all of them. An evaluation goes on as long as
// somebody waits for it; who gives up, or runs out of time, takes nothing from the others. The package
// knows no query language, compares no questions, and keeps no answer after the last one has used it.
package singleflight

import (
	"context"
	"errors"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// A Watch tells whether what an evaluation reads has changed.
type Watch interface {
	// Unchanged reports whether nothing has changed since the watch began. It may report false though
	// nothing has.
	Unchanged(ctx context.Context) bool
	// End ends the watch. Unchanged returns false then.
	End()
}

// A Question is what one request asks. All questions with one key have one answer, but for its time.
type Question[V any] struct {
	// Watch begins a watch before anything is read; nil, or a nil Watch: changes are not known.
	Watch func() Watch
	// Compute answers. Its context has the values of the request that asked, with an account, a turn
	// and a query of its own, and ends when nobody waits any more. late means that the evaluation did
	// not begin when the question was asked.
	Compute func(ctx context.Context, late bool) (V, error)
	// End is called once, when nobody uses what was computed any more, or if nothing was computed.
	// It may be nil.
	End func()
}

// A Group answers questions of one kind. It is safe for concurrent use.
type Group[K comparable, V any] struct {
	// transient reports whether an error tells something of one evaluation, as that it took too long,
	// and nothing of the next.
	transient func(err error) bool

	mu    sync.Mutex // guards the rest
	lines map[K]*line[V]
	begun uint64 // evaluations
}

// A line is the evaluations of one question.
type line[V any] struct{ current, next *flight[V] }

// New returns a group. transient reports whether an error tells something of one evaluation, as that
// it took too long, and nothing of the next one.
func New[K comparable, V any](transient func(err error) bool) *Group[K, V] {
	return &Group[K, V]{transient: transient, lines: map[K]*line[V]{}}
}

// OfOneEvaluation reports whether an error is the end of an evaluation, which ran out of time or did
// not begin in time, and not of its question.
func OfOneEvaluation(err error) bool {
	return errors.Is(err, query.ErrLate) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A Share is a user's share of an answer.
type Share[V any] struct {
	Answer  V
	release func()
}

// Release gives the answer up. It is called once.
func (s *Share[V]) Release() { s.release() }

// Do returns an answer to a question, with the error of its evaluation. The share is nil if ctx has
// ended before; the error is that of ctx then. While Do waits, others have the turn of ctx.
func (g *Group[K, V]) Do(ctx context.Context, key K, q Question[V]) (*Share[V], error) {
	turn := query.TurnOf(ctx)
	a := &asking[K, V]{Group: g, key: key, question: q, holds: turn.Pause()}
	share, err := a.answer(ctx)
	if share != nil && a.holds {
		if ended := turn.Resume(ctx); ended != nil {
			share.Release()
			return nil, ended
		}
	}
	return share, err
}

// asking is one call of Do.
type asking[K comparable, V any] struct {
	*Group[K, V]
	key      K
	question Question[V]
	holds    bool // a turn
	flies    bool // an evaluation has taken the question
}

// answer waits for an answer. An evaluation that was joined and ran out of time is followed by
// another one: the question has time left.
func (a *asking[K, V]) answer(ctx context.Context) (*Share[V], error) {
	defer func() {
		if !a.flies {
			a.question.end()
		}
	}()
	f := a.board(ctx)
	share, err := a.wait(ctx, f)
	if share == nil || err == nil || a.flies || !a.transient(err) {
		return share, err
	}
	share.Release()
	return a.wait(ctx, a.board(ctx))
}

// board returns the evaluation that answers the question: the one under way if it may, else the
// next one. The caller is one of its users.
func (a *asking[K, V]) board(ctx context.Context) *flight[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	arrived := a.begun
	if l := a.lines[a.key]; l != nil {
		f := l.current
		f.users++
		a.mu.Unlock()
		fresh := f.watch != nil && f.watch.Unchanged(ctx)
		a.mu.Lock()
		if fresh {
			return f
		}
		if a.leave(f) {
			a.mu.Unlock()
			<-f.done
			a.mu.Lock()
		}
	}
	l := a.lines[a.key]
	switch {
	case l == nil:
		l = &line[V]{current: a.fly(ctx)}
		a.lines[a.key] = l
		a.begin(l.current, false)
	case l.current.number > arrived: // it began after the question was asked
		l.current.users++
	case l.next == nil:
		l.next = a.fly(ctx)
		return l.next
	default:
		l.next.users++
		return l.next
	}
	return l.current
}

// fly makes an evaluation of the question. It needs mu.
func (a *asking[K, V]) fly(ctx context.Context) *flight[V] {
	a.flies = true
	f := &flight[V]{question: a.question, holds: a.holds, done: make(chan struct{}), users: 1}
	f.left = func() { a.remove(a.key, f) }
	account := query.AccountOf(ctx).Sibling()
	ctx = query.WithAccount(query.Detached(ctx), account)
	ctx, f.evaluation = query.BeginEvaluation(ctx)
	f.account, f.turn = account, query.TurnOf(ctx).Fork()
	f.ctx, f.cancel = context.WithCancel(query.WithTurn(ctx, f.turn))
	return f
}

// wait waits for an evaluation, or for the end of ctx. Who is the last one to give up waits until the
// evaluation has ended.
func (a *asking[K, V]) wait(ctx context.Context, f *flight[V]) (*Share[V], error) {
	query.From(ctx).Use(f.evaluation)
	if !a.flies {
		query.TurnOf(ctx).PauseForClient() // The evaluation may need the place.
		_, span := tracing.Start(ctx, "wait for an equal query")
		defer func() { span.End(nil) }()
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		a.mu.Lock()
		winding := a.leave(f)
		a.mu.Unlock()
		if winding {
			<-f.done
		}
		return nil, ctx.Err()
	}
	release := sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.leave(f)
	})
	if f.panicked != nil {
		release()
		panic(f.panicked)
	}
	query.AccountOf(ctx).Share(f.err)
	return &Share[V]{f.answer, release}, f.err
}
