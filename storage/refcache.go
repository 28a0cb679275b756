package storage

import (
	"sync"
	"sync/atomic"
)

// RefCache finds the Ref of a series by the bytes that a protocol names it with. It compares whole keys, never hashes alone. It is safe for
// concurrent use.
//
// Its memory is bounded: keys live in two generations. When the young one is full it becomes the old one, and what was not
// asked for since then is dropped with the one before. Senders repeat their series in the same order, so each entry
// remembers which one was asked for after it: a comparison of bytes then takes the place of a look into the map.
type RefCache struct {
	limit int // entries of a generation

	mu         sync.RWMutex // guards all below, not the entries
	young, old map[string]*cachedRef
	bytes      int // keys of young
}

// usualKey is the length of key that the memory of a cache is reckoned with; longer ones fill a generation sooner.
const usualKey = 256

// cachedRef is an entry of one generation. What follows it is of the same: both were young when they met, and none ever
// changes its generation. So a dropped generation is garbage as a whole.
type cachedRef struct {
	key  string
	ref  Ref
	next atomic.Pointer[cachedRef]
}

// NewRefCache returns a cache of at most so many entries.
func NewRefCache(entries int) *RefCache {
	return &RefCache{limit: max(1, entries/2), young: map[string]*cachedRef{}}
}

// RefLookup is a run of lookups. It is used by one goroutine and begins with Begin and ends with End, within which the
// cache does not change.
type RefLookup struct {
	cache *RefCache
	last  *cachedRef
	kept  []*cachedRef // found in the old generation
}

// Begin begins a run. The caller ends it soon: no key is added meanwhile.
func (c *RefCache) Begin(l *RefLookup) {
	c.mu.RLock()
	l.cache, l.last, l.kept = c, nil, l.kept[:0]
}

// Find returns the Ref of a key, 0 if there is none.
func (l *RefLookup) Find(key []byte) Ref {
	c := l.cache
	if l.last != nil {
		if e := l.last.next.Load(); e != nil && e.key == string(key) {
			l.last = e
			return e.ref
		}
	}
	e := c.young[string(key)]
	if e == nil {
		if e = c.old[string(key)]; e == nil {
			return 0
		}
		l.kept = append(l.kept, e)
		return e.ref
	}
	if l.last != nil {
		l.last.next.Store(e)
	}
	l.last = e
	return e.ref
}

// End ends the run and takes what it found in the old generation over into the young one.
func (l *RefLookup) End() {
	c := l.cache
	c.mu.RUnlock()
	if len(l.kept) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range l.kept {
			c.put(e.key, e.ref)
		}
	}
	clear(l.kept)
	l.cache, l.last = nil, nil
}

// Add keeps the series with a Ref.
func (c *RefCache) Add(keys []string, refs []Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, ref := range refs {
		if ref != 0 {
			c.put(keys[i], ref)
		}
	}
}

// put needs mu.
func (c *RefCache) put(key string, ref Ref) {
	if c.young[key] != nil {
		return
	}
	if len(c.young) >= c.limit || len(c.young) > 0 && c.bytes+len(key) > c.limit*usualKey {
		c.old, c.young, c.bytes = c.young, make(map[string]*cachedRef), 0
	}
	c.young[key] = &cachedRef{key: key, ref: ref}
	c.bytes += len(key)
}
