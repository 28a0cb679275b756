package query

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// MemoryFlag is the flag that sets the budget. Errors name it.
const MemoryFlag = "--query.max-memory-bytes"

var (
	// ErrTooLarge is returned to a query that needs more than the whole budget. Asking again cannot
	// help.
	ErrTooLarge = errors.New("the query needs more memory than " + MemoryFlag + " allows")
	// ErrBusy is returned to a query that would fit if others did not hold memory. Asking again
	// later can help.
	ErrBusy = errors.New("other queries hold the memory that " + MemoryFlag + " allows")
)

// A Budget is shared by all queries of a process. It is safe for concurrent use.
type Budget struct {
	limit   atomic.Int64
	used    atomic.Int64 // in all
	spare   atomic.Int64 // of it, in spare accounts
	refused atomic.Int64
	free    atomic.Pointer[[]func(bytes int64) bool] // see OnShortage
}

// NewBudget returns a budget of limit bytes; 0 or less means no limit.
func NewBudget(limit int64) *Budget {
	b := &Budget{}
	b.SetLimit(limit)
	return b
}

// SetLimit changes the size of the budget. What queries hold already stays theirs.
func (b *Budget) SetLimit(limit int64) { b.limit.Store(limit) }

// Limit returns the size of the budget in bytes, 0 or less without a limit.
func (b *Budget) Limit() int64 { return b.limit.Load() }

// Used returns the bytes that queries hold.
func (b *Budget) Used() int64 { return max(0, b.used.Load()-b.spare.Load()) }

// Spare returns the bytes that spare accounts hold.
func (b *Budget) Spare() int64 { return b.spare.Load() }

// Refused returns how many requests for memory were refused so far.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Open returns an account for one query. Close must be called when the query's answer has been
// sent.
func (b *Budget) Open() *Account { return &Account{budget: b} }

// OpenSpare returns an account for memory that nobody needs urgently, and that OnShortage gives
// back. It may take a quarter of the budget if nobody else needs it.
func (b *Budget) OpenSpare() *Account { return &Account{budget: b, spare: true} }

// OnShortage has free called when a query finds too little memory, with the bytes that it wants to
// take. free gives back spare memory, about as much, and reports whether it had any; then the query
// tries again. free must not wait for anybody who takes memory for a query. Call OnShortage before
// the budget is used.
func (b *Budget) OnShortage(free func(bytes int64) bool) {
	all := []func(int64) bool{free}
	if others := b.free.Load(); others != nil {
		all = append(all, *others...)
	}
	b.free.Store(&all)
}

// shorten has spare memory given back, and reports whether there was any.
func (b *Budget) shorten(bytes int64) bool {
	if all := b.free.Load(); all != nil {
		for _, free := range *all {
			if free(bytes) {
				return true
			}
		}
	}
	return false
}

// small is how many bytes a query may hold and still take from what is kept for such queries: an
// eighth of the budget. So short questions are answered while large answers hold all that they may,
// however slowly their clients read.
const small = 1 << 20

// limitFor returns what all queries may hold together after one of them has taken memory and holds
// so many bytes.
func (b *Budget) limitFor(held int64) int64 {
	if held <= small {
		return b.limit.Load()
	}
	limit := b.limit.Load()
	return limit - limit/8
}

// take takes n bytes if they are there, for a query that has held bytes.
func (b *Budget) take(n, held int64) bool {
	if b.limit.Load() <= 0 {
		b.used.Add(n)
		return true
	}
	limit := b.limitFor(held + n)
	for {
		used := b.used.Load()
		if n > limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// An Account is what one query holds. It is safe for concurrent use. A nil account has no limit and
// counts nothing.
type Account struct {
	budget *Budget
	spare  bool // see OpenSpare

	mu     sync.Mutex // guards the rest
	held   int64
	most   int64         // held at once so far
	busy   bool          // a Take failed because others hold the memory
	wait   time.Duration // how long others will take; 0: that is not known
	closed bool
}

// Take takes n bytes more, before they are allocated. After an error nothing has been taken. A
// closed account gives nothing more: what is still under way belongs to a query that has ended.
func (a *Account) Take(n int64) error {
	if a == nil || n <= 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.budget
	if a.closed {
		return context.Canceled
	}
	if a.take(n) {
		a.held += n
		a.most = max(a.most, a.held)
		return nil
	}
	b.refused.Add(1)
	if n > b.limitFor(a.held+n)-a.held {
		return fmt.Errorf("%w (%d bytes)", ErrTooLarge, b.limit.Load())
	}
	a.busy = true
	return fmt.Errorf("%w (%d bytes)", ErrBusy, b.limit.Load())
}

// take takes n bytes of the budget. It needs mu.
func (a *Account) take(n int64) bool {
	b := a.budget
	if a.spare {
		if limit := b.limit.Load(); limit > 0 && a.held+n > limit/4 || !b.take(n, a.held) {
			return false
		}
		b.spare.Add(n)
		return true
	}
	for !b.take(n, a.held) {
		if !b.shorten(n) {
			return false
		}
	}
	return true
}

// Give gives n bytes back before the query ends. They must have been taken.
func (a *Account) Give(n int64) {
	if a == nil || n <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n = min(n, a.held) // all of it went back if the account is closed
	a.give(n)
}

// give needs mu.
func (a *Account) give(n int64) {
	a.held -= n
	a.budget.used.Add(-n)
	if a.spare {
		a.budget.spare.Add(-n)
	}
}

// Limit returns the size of the budget, 0 or less without a limit.
func (a *Account) Limit() int64 {
	if a == nil {
		return 0
	}
	return a.budget.limit.Load()
}

// Held returns the bytes that the account holds.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// Most returns how many bytes the account has held at once.
func (a *Account) Most() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// Busy reports whether ErrBusy was returned: the query may try again later.
func (a *Account) Busy() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy
}

// Sibling opens another account of the same budget, for work that several queries share.
func (a *Account) Sibling() *Account {
	if a == nil {
		return nil
	}
	return &Account{budget: a.budget}
}

// Share notes what came of work that the query shares: it is busy if the work was refused memory that
// others hold. An error with a method Wait tells how long others will take.
func (a *Account) Share(err error) {
	if a == nil || !errors.Is(err, ErrBusy) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = true
	if late, ok := errors.AsType[interface {
		error
		Wait() time.Duration
	}](err); ok {
		a.wait = max(a.wait, late.Wait())
	}
}

// Close gives everything back.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.give(a.held)
}
