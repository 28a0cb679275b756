// Package budget bounds the memory that the answers to all queries hold together, whatever language they are asked in. A query takes
// what it is about to allocate before it allocates it, and gives everything back when it ends. The package never allocates for anybody, knows no
// query language, and never makes a query wait: a query that waited would hold what it has already taken.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Flag is the flag that sets the budget. Errors name it.
const Flag = "--query.max-memory-bytes"

var (
	// ErrTooLarge is returned to a query that needs more than the whole budget. Asking again cannot help.
	ErrTooLarge = errors.New("the query needs more memory than " + Flag + " allows")
	// ErrBusy is returned to a query that would fit if others did not hold memory. Asking again later can help.
	ErrBusy = errors.New("other queries hold the memory that " + Flag + " allows")
)

// A Budget is shared by all queries of a process. It is safe for concurrent use.
type Budget struct {
	limit   int64
	used    atomic.Int64
	refused atomic.Int64
}

// New returns a budget of limit bytes; 0 or less means no limit.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Limit returns the size of the budget in bytes, 0 or less without a limit.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns the bytes that open accounts hold.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused returns how many requests for memory were refused so far.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Open returns an account for one query. Close must be called when the query's answer has been sent.
func (b *Budget) Open() *Account { return &Account{budget: b} }

// An Account is what one query holds. It is safe for concurrent use. A nil account has no limit and counts nothing.
type Account struct {
	budget *Budget
	held   atomic.Int64
}

// Take takes n bytes more, before they are allocated. After an error nothing has been taken.
func (a *Account) Take(n int64) error {
	if a == nil || n <= 0 {
		return nil
	}
	b := a.budget
	held, used := a.held.Add(n), b.used.Add(n)
	if b.limit <= 0 || used <= b.limit {
		return nil
	}
	a.held.Add(-n)
	b.used.Add(-n)
	b.refused.Add(1)
	if held > b.limit {
		return fmt.Errorf("%w (%d bytes)", ErrTooLarge, b.limit)
	}
	return fmt.Errorf("%w (%d bytes)", ErrBusy, b.limit)
}

// Give gives n bytes back before the query ends. They must have been taken.
func (a *Account) Give(n int64) {
	if a == nil || n <= 0 {
		return
	}
	a.held.Add(-n)
	a.budget.used.Add(-n)
}

// Held returns the bytes that the account holds.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	return a.held.Load()
}

// Close gives everything back. The account must not be used afterwards.
func (a *Account) Close() {
	if a != nil {
		a.Give(a.held.Load())
	}
}

type accountKey struct{}

// With returns a context in which From finds the account.
func With(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// From returns the account of the query that ctx belongs to, nil (no limit) if it has none.
func From(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
