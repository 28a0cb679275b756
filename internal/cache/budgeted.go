package cache

import (
	"container/list"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// BudgetedOptions of a Cache.
type BudgetedOptions[V any] struct {
	Budget *query.Budget // of all queries, of which the values are part
	// MaxBytes bounds all values, and Part is the part of it that one value may take at most.
	MaxBytes, Part int64
	// Idle is how long a value is kept that is not used; 0: for ever.
	Idle time.Duration
	Now  func() time.Time
	// Dropped is called with each value that is forgotten. It may be nil, and must not use the cache.
	Dropped func(V)
}

// Budgeted keeps values by keys. They give way to queries that need their memory. It is safe for concurrent use.
type Budgeted[K comparable, V any] struct {
	o       BudgetedOptions[V]
	account *query.Account

	mu    sync.Mutex // guards the rest
	bytes int64
	byKey map[K]*list.Element
	order *list.List // of *kept[K, V]; the front was used last
}

type kept[K comparable, V any] struct {
	key   K
	value V
	bytes int64
	used  time.Time
}

// NewBudgeted returns an empty cache.
func NewBudgeted[K comparable, V any](o BudgetedOptions[V]) *Budgeted[K, V] {
	c := &Budgeted[K, V]{o: o, account: o.Budget.OpenSpare(), byKey: map[K]*list.Element{}, order: list.New()}
	o.Budget.OnShortage(c.free)
	return c
}

// Get returns the value of a key, if it is there.
func (c *Budgeted[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byKey[key]
	if at == nil {
		return value, false
	}
	c.order.MoveToFront(at)
	found := at.Value.(*kept[K, V])
	found.used = c.o.Now()
	return found.value, true
}

// Put keeps a value in place of the one of its key. It returns false if there is no memory for it.
func (c *Budgeted[K, V]) Put(key K, value V, bytes int64) bool {
	now := c.o.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[key]; at != nil {
		c.drop(at)
	}
	c.dropIdle(now)
	if bytes > c.o.MaxBytes/c.o.Part {
		return false
	}
	for c.bytes+bytes > c.o.MaxBytes {
		c.drop(c.order.Back())
	}
	if c.account.Take(bytes) != nil {
		return false
	}
	c.bytes += bytes
	c.byKey[key] = c.order.PushFront(&kept[K, V]{key, value, bytes, now})
	return true
}

// dropIdle needs mu.
func (c *Budgeted[K, V]) dropIdle(now time.Time) {
	if c.o.Idle == 0 {
		return
	}
	for at := c.order.Back(); at != nil && now.Sub(at.Value.(*kept[K, V]).used) > c.o.Idle; at = c.order.Back() {
		c.drop(at)
	}
}

// Clear forgets everything.
func (c *Budgeted[K, V]) Clear() { c.free(1 << 62) }

// free forgets values of so many bytes, and reports whether there was any.
func (c *Budgeted[K, V]) free(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.bytes
	for c.bytes > had-bytes && c.order.Len() > 0 {
		c.drop(c.order.Back())
	}
	return c.bytes < had
}

// drop needs mu.
func (c *Budgeted[K, V]) drop(at *list.Element) {
	old := c.order.Remove(at).(*kept[K, V])
	delete(c.byKey, old.key)
	c.bytes -= old.bytes
	c.account.Give(old.bytes)
	if c.o.Dropped != nil {
		c.o.Dropped(old.value)
	}
}

// Held returns how many values are kept, and their bytes.
func (c *Budgeted[K, V]) Held() (n int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len(), c.bytes
}
