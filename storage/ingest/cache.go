package ingest

import (
	"bytes"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/intern"
)

// Cache finds the Ref of a series by the bytes that a protocol names it with. It compares whole
// keys, never hashes alone. It is safe for concurrent use.
//
// Its memory is bounded: keys live in two generations. When the young one is full it becomes the
// old one, and the previous old one is dropped with all keys that were not looked up since. Senders
// repeat their series in the same order, so each entry remembers which entry was looked up after
// it: a comparison of bytes then replaces a lookup in the table. A key takes its bytes and about 32
// more, in memory that the garbage collector does not scan.
type Cache struct {
	limit int // entries of a generation
	seed  maphash.Seed

	mu         sync.RWMutex // guards all below, not the entries
	young, old *generation
	bytes      int // keys of young
}

// usualKey is the length of key that the memory of a cache is estimated with; longer ones fill a
// generation sooner.
const usualKey = 256

// generation is the keys of a generation, and by their numbers what is known of them.
type generation struct {
	keys    *intern.Set
	entries []*[refPage]cachedRef
}

const refPage = 1024

// cachedRef is an entry of one generation. What follows it is of the same, so a dropped generation
// is garbage as a whole.
type cachedRef struct {
	ref  uint32
	next atomic.Uint32 // the number + 1 of the key that was looked up after it, 0: unknown
}

// NewCache returns a cache of at most so many entries.
func NewCache(entries int) *Cache {
	c := &Cache{limit: max(1, entries/2), seed: maphash.MakeSeed()}
	c.young, c.old = c.fresh(), c.fresh()
	return c
}

func (c *Cache) fresh() *generation { return &generation{keys: intern.New(c.seed)} }

func (g *generation) at(number uint32) *cachedRef {
	return &g.entries[number/refPage][number%refPage]
}

func (g *generation) add(key []byte, hash uint64, ref storage.Ref) {
	n := g.keys.Add(key, hash)
	if n%refPage == 0 {
		g.entries = append(g.entries, new([refPage]cachedRef))
	}
	g.at(n).ref = uint32(ref)
}

// Lookup is a run of lookups. It is used by one goroutine and begins with Begin and ends with End,
// within which the cache does not change.
type Lookup struct {
	cache      *Cache
	young, old *generation
	last       *cachedRef
	kept       []uint32 // found in the old generation
}

// Begin begins a run. The caller must end it soon: no key can be added before.
func (c *Cache) Begin(l *Lookup) {
	c.mu.RLock()
	*l = Lookup{cache: c, young: c.young, old: c.old, kept: l.kept[:0]}
}

// Find returns the Ref of a key, 0 if there is none.
func (l *Lookup) Find(key []byte) storage.Ref {
	if l.last != nil {
		if next := l.last.next.Load(); next != 0 && bytes.Equal(l.young.keys.Bytes(next-1), key) {
			l.last = l.young.at(next - 1)
			return storage.Ref(l.last.ref)
		}
	}
	hash := l.young.keys.Hash(key)
	if n, ok := l.young.keys.Find(key, hash); ok {
		if l.last != nil {
			l.last.next.Store(n + 1)
		}
		l.last = l.young.at(n)
		return storage.Ref(l.last.ref)
	}
	if n, ok := l.old.keys.Find(key, hash); ok {
		l.kept = append(l.kept, n)
		return storage.Ref(l.old.at(n).ref)
	}
	return 0
}

// End ends the run and takes what it found in the old generation over into the young one.
func (l *Lookup) End() {
	c := l.cache
	c.mu.RUnlock()
	if len(l.kept) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range l.kept {
			c.put(l.old.keys.Bytes(n), storage.Ref(l.old.at(n).ref))
		}
	}
	*l = Lookup{kept: l.kept[:0]}
}

// Add keeps the series with a Ref.
func (c *Cache) Add(keys []string, refs []storage.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, ref := range refs {
		if ref != 0 {
			c.put(unsafe.Slice(unsafe.StringData(keys[i]), len(keys[i])), ref) // put copies
		}
	}
}

// put needs mu. It copies the key.
func (c *Cache) put(key []byte, ref storage.Ref) {
	hash := c.young.keys.Hash(key)
	if _, ok := c.young.keys.Find(key, hash); ok || ref > math.MaxUint32 {
		return
	}
	if n := c.young.keys.Len(); n >= c.limit || n > 0 && c.bytes+len(key) > c.limit*usualKey {
		c.old, c.young, c.bytes = c.young, c.fresh(), 0
	}
	c.young.add(key, hash, ref)
	c.bytes += len(key)
}
