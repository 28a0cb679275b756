package eval

import (
	"context"
	"iter"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/budget"
	"github.com/tsdbridge/tsdbridge/internal/turns"
)

// resources are what the calls of one request share.
type resources struct {
	ctx     context.Context //nolint:containedctx // It lives as long as one Eval.
	account *budget.Account // of the request; nil has no limit
	turn    *turns.Turn     // of the request, to compute
	settled int             // calls whose results were charged
}

func resourcesOf(ctx context.Context) resources {
	return resources{ctx: ctx, account: budget.From(ctx), turn: turns.From(ctx)}
}

// effort is the memory and the time that a call takes, and the first error that it ends in.
type effort struct {
	*resources
	err      error
	reserved int64 // Bytes taken for what it makes.
	work     int   // Since the last look at the request.
}

// fail remembers an error for the dispatcher.
func (e *effort) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// reserve takes memory that the function is about to allocate. Without it the function fails, and
// is to stop.
func (e *effort) reserve(bytes int64) bool {
	if e.err == nil {
		if err := e.account.Take(bytes); err != nil {
			e.fail(err)
		} else {
			e.reserved += bytes
		}
	}
	return e.err == nil
}

// borrow takes memory for a while. With an error there is nothing to give back.
func (r *resources) borrow(bytes int64) (giveBack func(), err error) {
	if err := r.account.Take(bytes); err != nil {
		return nil, err
	}
	return func() { r.account.Give(bytes) }, nil
}

// tickWork is how much work is done between two looks at the request: a millisecond, or more where a value
// costs much.
const tickWork = 1 << 16

// over yields series until the call has failed or the request has ended, which makes it fail.
func (e *effort) over(list []*series.Series) iter.Seq[*series.Series] {
	return func(yield func(*series.Series) bool) {
		for _, s := range list {
			if e.stopped() || !yield(s) {
				return
			}
		}
	}
}

// stopped reports whether the function is to stop: it has failed, or the request has ended. Others
// may have their turn before it returns.
func (e *effort) stopped() bool {
	if e.err == nil {
		if err := e.turn.Yield(e.ctx); err != nil {
			e.fail(err)
		}
	}
	return e.err != nil
}

// tick counts work in visited values, and reports whether to continue.
func (e *effort) tick(work int) bool {
	if e.work += work; e.work < tickWork {
		return e.err == nil
	}
	e.work = 0
	return !e.stopped()
}

// replace replaces each value of a series by f's, nulls included.
func (e *effort) replace(s *series.Series, f func(float64) float64) {
	values := make([]float64, len(s.Values))
	for i, v := range s.Values {
		if i%1024 == 0 && !e.tick(1024) {
			return
		}
		values[i] = f(v)
	}
	s.Values = values
}

// change replaces each value that is not null.
func (e *effort) change(s *series.Series, f func(float64) float64) {
	e.replace(s, func(v float64) float64 {
		if python.IsNone(v) {
			return v
		}
		return f(v)
	})
}
