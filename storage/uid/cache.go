package uid

import "sync"

// cache is a bounded map of names to UIDs or back. It keeps two generations: what is used in the newer one stays,
// and the older one is dropped whole when the newer one is full, so a lookup costs a map access and no list.
type cache struct {
	limit int // entries per generation

	mu       sync.RWMutex // guards the maps
	new, old map[string]string
}

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
	if len(c.new) >= c.limit {
		c.old, c.new = c.new, make(map[string]string, c.limit/4)
	}
	c.new[key] = value
}

func (c *cache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.new) + len(c.old)
}
