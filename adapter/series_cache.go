package adapter

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
)

// seriesCache finds the Ref of a series by the bytes that a protocol names it with. It compares whole keys, never hashes alone.
//
// Its memory is bounded: keys live in two generations. When the young one is full it becomes the old one, and what was not
// asked for since then is dropped with the one before. Senders repeat their series in the same order, so each entry
// remembers which one was asked for after it: a comparison of bytes then takes the place of a look into the map.
type seriesCache struct {
	limit int // entries of a generation

	mu         sync.RWMutex // guards all below, not the entries
	young, old map[string]*cachedSeries
	bytes      int // keys of young
}

// usualKey is the length of key that the memory of a cache is reckoned with; longer ones fill a generation sooner.
const usualKey = 256

// cachedSeries is an entry of one generation. What follows it is of the same: both were young when they met, and none ever
// changes its generation. So a dropped generation is garbage as a whole.
type cachedSeries struct {
	key  string
	ref  storage.Ref
	next atomic.Pointer[cachedSeries]
}

// newSeriesCache returns a cache of at most so many entries.
func newSeriesCache(entries int) *seriesCache {
	return &seriesCache{limit: max(1, entries/2), young: map[string]*cachedSeries{}}
}

// seriesLookup is a run of lookups. It is used by one goroutine and begins with begin and ends with end, within which the
// cache does not change.
type seriesLookup struct {
	cache *seriesCache
	last  *cachedSeries
	kept  []*cachedSeries // found in the old generation
}

func (c *seriesCache) begin(l *seriesLookup) {
	c.mu.RLock()
	l.cache, l.last, l.kept = c, nil, l.kept[:0]
}

// find returns the Ref of a key, 0 if there is none.
func (l *seriesLookup) find(key []byte) storage.Ref {
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

// end ends the run and takes what it found in the old generation over into the young one.
func (l *seriesLookup) end() {
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

// add keeps the series with a Ref.
func (c *seriesCache) add(keys []string, refs []storage.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, ref := range refs {
		if ref != 0 {
			c.put(keys[i], ref)
		}
	}
}

// put needs mu.
func (c *seriesCache) put(key string, ref storage.Ref) {
	if c.young[key] != nil {
		return
	}
	if len(c.young) >= c.limit || len(c.young) > 0 && c.bytes+len(key) > c.limit*usualKey {
		c.old, c.young, c.bytes = c.young, make(map[string]*cachedSeries), 0
	}
	c.young[key] = &cachedSeries{key: key, ref: ref}
	c.bytes += len(key)
}
