package graphite

import (
	"cmp"
	"sync"
)

// recent remembers something of the keys that were used of late, in two generations. Safe for concurrent use.
type recent[K cmp.Ordered, V any] struct {
	size int // of a generation

	mu         sync.RWMutex // guards all below
	young, old map[K]V
}

func newRecent[K cmp.Ordered, V any](size int) *recent[K, V] { return &recent[K, V]{size: size} }

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.RLock()
	v, ok := r.young[key]
	if ok {
		r.mu.RUnlock()
		return v, true
	}
	v, ok = r.old[key]
	r.mu.RUnlock()
	if ok {
		r.put(key, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= r.size {
		r.old, r.young = r.young, make(map[K]V)
	}
	r.young[key] = v
}

func (r *recent[K, V]) forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}
