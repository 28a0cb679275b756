package call

import (
	"context"
	"iter"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Resources are what the calls of one request share.
type Resources struct {
	Ctx     context.Context //nolint:containedctx // It lives as long as one Eval.
	Account *query.Account  // of the request; nil has no limit
	Turn    *query.Turn     // of the request, to compute
	settled int             // calls whose results were charged
}

// ResourcesOf returns those of a request, by its context.
func ResourcesOf(ctx context.Context) Resources {
	return Resources{Ctx: ctx, Account: query.AccountOf(ctx), Turn: query.TurnOf(ctx)}
}

// effort is the memory and the time that a call takes, and the first error that it ends in.
type effort struct {
	*Resources
	Err      error
	reserved int64 // Bytes taken for what it makes.
	work     int   // Since the last look at the request.
}

// Fail remembers an error for the dispatcher.
func (e *effort) Fail(err error) {
	if e.Err == nil {
		e.Err = err
	}
}

// Reserve takes memory that the function is about to allocate. Without it the function fails, and
// is to stop.
func (e *effort) Reserve(bytes int64) bool {
	if e.Err == nil {
		if err := e.Account.Take(bytes); err != nil {
			e.Fail(err)
		} else {
			e.reserved += bytes
		}
	}
	return e.Err == nil
}

// Borrow takes memory for a while. With an error there is nothing to give back.
func (r *Resources) Borrow(bytes int64) (giveBack func(), err error) {
	if err := r.Account.Take(bytes); err != nil {
		return nil, err
	}
	return func() { r.Account.Give(bytes) }, nil
}

// tickWork is how much work is done between two looks at the request: a millisecond, or more where a value
// costs much.
const tickWork = 1 << 16

// Over yields series until the call has failed or the request has ended, which makes it fail.
func (e *effort) Over(list []*series.Series) iter.Seq[*series.Series] {
	return func(yield func(*series.Series) bool) {
		for _, s := range list {
			if e.Stopped() || !yield(s) {
				return
			}
		}
	}
}

// Stopped reports whether the function is to stop: it has failed, or the request has ended. Others
// may have their turn before it returns.
func (e *effort) Stopped() bool {
	if e.Err == nil {
		if err := e.Turn.Yield(e.Ctx); err != nil {
			e.Fail(err)
		}
	}
	return e.Err != nil
}

// Tick counts work in visited values, and reports whether to continue.
func (e *effort) Tick(work int) bool {
	if e.work += work; e.work < tickWork {
		return e.Err == nil
	}
	e.work = 0
	return !e.Stopped()
}

// Replace replaces each value of a series by f's, nulls included.
func (e *effort) Replace(s *series.Series, f func(float64) float64) {
	values := make([]float64, len(s.Values))
	for i, v := range s.Values {
		if i%1024 == 0 && !e.Tick(1024) {
			return
		}
		values[i] = f(v)
	}
	s.Values = values
}

// Change replaces each value that is not null.
func (e *effort) Change(s *series.Series, f func(float64) float64) {
	e.Replace(s, func(v float64) float64 {
		if python.IsNone(v) {
			return v
		}
		return f(v)
	})
}
