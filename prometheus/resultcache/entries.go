package resultcache

import (
	"container/list"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A key names the queries that share their steps.
type key struct {
	text        string
	step, phase int64 // milliseconds; the phase is the steps' distance from multiples of the step
	lookback    time.Duration
}

// An entry is an answer that is kept.
type entry struct {
	key
	*answer
	reading *storage.Reading // tells what has changed since it was computed

	size int64
	used time.Time
}

// idle is how long an answer is kept that nobody asks for.
const idle = 15 * time.Minute

// largest is the part of the memory that one answer may take.
const largest = 4

// entries are the answers that are kept. Those that were used longest ago go first.
type entries struct {
	max     int64
	account *budget.Account
	now     func() time.Time

	mu    sync.Mutex // guards the rest
	bytes int64
	byKey map[key]*list.Element
	order *list.List // of *entry; the front was used last
}

func newEntries(o Options) *entries {
	e := &entries{
		max: o.MaxBytes, account: o.Budget.OpenSpare(), now: o.Now,
		byKey: map[key]*list.Element{}, order: list.New(),
	}
	o.Budget.OnShortage(e.free)
	return e
}

// get returns the entry of a key, or nil.
func (e *entries) get(k key) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.byKey[k]
	if at == nil {
		return nil
	}
	e.order.MoveToFront(at)
	found := at.Value.(*entry)
	found.used = e.now()
	return found
}

// put keeps an entry in place of the one of its key. It returns false if there is no memory for it.
func (e *entries) put(n *entry) bool {
	n.size, n.used = n.bytes()+int64(len(n.text)), e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if at := e.byKey[n.key]; at != nil {
		e.drop(at)
	}
	for at := e.order.Back(); at != nil && n.used.Sub(at.Value.(*entry).used) > idle; at = e.order.Back() {
		e.drop(at)
	}
	if n.size > e.max/largest {
		return false
	}
	for e.bytes+n.size > e.max {
		e.drop(e.order.Back())
	}
	if e.account.Take(n.size) != nil {
		return false
	}
	e.bytes += n.size
	e.byKey[n.key] = e.order.PushFront(n)
	return true
}

// free gives memory back to the budget, and reports whether there was any.
func (e *entries) free(bytes int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	had := e.bytes
	for e.bytes > had-bytes && e.order.Len() > 0 {
		e.drop(e.order.Back())
	}
	return e.bytes < had
}

// drop needs mu.
func (e *entries) drop(at *list.Element) {
	old := e.order.Remove(at).(*entry)
	delete(e.byKey, old.key)
	e.bytes -= old.size
	e.account.Give(old.size)
	old.reading.End()
}

// held returns how many answers are kept, and their bytes.
func (e *entries) held() (n int, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.order.Len(), e.bytes
}
