package uid

import "sync"

// cache is a bounded map of names to UIDs or back. It keeps two generations: what is used in the newer one stays,
// and the older one is dropped whole when the newer one is full, so a lookup costs a map access and no list.
type cache struct {
	limit int // entries per generation, of usual length

	mu       sync.RWMutex // guards all below
	new, old map[string]string
	weight   int // of new
}

// usualEntry is the length in bytes that the memory of a cache is reckoned with; longer entries count as several.
const usualEntry = 128

func newCache(entries int) *cache {
	return &cache{limit: max(entries/2, 1), new: map[string]string{}}
}

func (c *cache) get(key string) (string, bool) {
	c.mu.RLock()
	value, ok := c.new[key]
	if ok {
		c.mu.RUnlock()
		return value, true
	}
	value, ok = c.old[key]
	c.mu.RUnlock()
	if ok {
		c.put(key, value)
	}
	return value, ok
}

func (c *cache) put(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.new[key]; ok {
		c.new[key] = value
		return
	}
	if c.weight >= c.limit {
		c.old, c.new, c.weight = c.new, map[string]string{}, 0
	}
	c.new[key] = value
	c.weight += 1 + (len(key)+len(value))/usualEntry
}

func (c *cache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.new) + len(c.old)
}
