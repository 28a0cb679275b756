// Package recent holds a map that remembers what was used lately in bounded memory. It never says when it forgets.
package recent

import "sync"

// A Map keeps the values of the keys that were used lately, in two generations: a full young generation becomes the old one,
// and what the old one held before is forgotten. A key found in the old generation moves to the young one. A Map is safe
// for concurrent use.
type Map[K comparable, V any] struct {
	size int // keys of a generation

	mu         sync.RWMutex // guards all below
	young, old map[K]V
}

// New returns an empty map with room for size keys in each of its two generations.
func New[K comparable, V any](size int) *Map[K, V] { return &Map[K, V]{size: size} }

// Get returns the value of a key, if it is still known.
func (m *Map[K, V]) Get(key K) (V, bool) {
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
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= m.size {
		m.old, m.young = m.young, make(map[K]V)
	}
	m.young[key] = v
}

// Forget removes a key.
func (m *Map[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.young, key)
	delete(m.old, key)
}
