// Package cache has two caches: LRU bounds its own memory, Budgeted gives its memory to queries that need it. Both
// forget what was used longest ago, and never report that they forget.
package cache

import "sync"

// An LRU keeps the values of the keys that were used lately, in two generations: a full young
// generation becomes the old one, and what the old one held before is forgotten. A key found in the
// old generation moves to the young one. An LRU is safe for concurrent use.
type LRU[K comparable, V any] struct {
	limit  int // of the weight of a generation
	weight func(K, V) int

	mu         sync.RWMutex // guards all below
	young, old map[K]V
	used       int // weight of young
}

// NewLRU returns an empty map with room for so many keys in each of its two generations.
func NewLRU[K comparable, V any](keys int) *LRU[K, V] {
	return NewWeightedLRU[K, V](keys, func(K, V) int { return 1 })
}

// NewWeightedLRU returns an empty map whose generations are full when the weights of their entries reach
// a limit. The weight of an entry must not change.
func NewWeightedLRU[K comparable, V any](limit int, weight func(K, V) int) *LRU[K, V] {
	return &LRU[K, V]{limit: limit, weight: weight}
}

// Get returns the value of a key, if it is still known.
func (m *LRU[K, V]) Get(key K) (V, bool) {
	m.mu.RLock()
	v, ok := m.young[key]
	if ok {
		m.mu.RUnlock()
		return v, true
	}
	v, ok = m.old[key]
	m.mu.RUnlock()
	if ok {
		m.Put(key, v)
	}
	return v, ok
}

// Put remembers the value of a key.
func (m *LRU[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || m.used >= m.limit {
		m.old, m.young, m.used = m.young, make(map[K]V), 0
	}
	if before, has := m.young[key]; has {
		m.used -= m.weight(key, before)
	}
	m.used += m.weight(key, v)
	m.young[key] = v
}

// Forget removes a key.
func (m *LRU[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, has := m.young[key]; has {
		m.used -= m.weight(key, before)
	}
	delete(m.young, key)
	delete(m.old, key)
}

// Len returns how many keys are known. A key of both generations counts twice.
func (m *LRU[K, V]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.young) + len(m.old)
}
