package uid

import (
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/tsdbridge/tsdbridge/storage/intern"
)

// cache is a bounded map of names to UIDs and back. It keeps two generations: what is used in the
// newer one stays, and the older one is dropped whole when the newer one is full, so a lookup costs
// a look into a table and no list. A name with its UID takes its bytes and some 60 more, in memory
// without pointers.
type cache struct {
	limit int // entries per generation, of usual length
	seed  maphash.Seed

	mu       sync.RWMutex // guards all below
	new, old *generation
	// renames counts the calls of rename. What was read before one of them may be what it forgot.
	renames uint64
	// moved are UIDs that were seen to have another name than was known, with a name that they had, until
	// takeMoved. There are mostMoved at most.
	moved map[number]string
}

// mostMoved bounds the UIDs that are noted until Refresh asks for them; it finds what is not noted if it is old.
const mostMoved = 100_000

// usualEntry is the length of an entry in bytes by which the memory of a cache is estimated; longer
// entries count as several.
const usualEntry = 128

// generation knows names, each once, under numbers. A UID whose name is known need not be that
// name's: the reverse row of a lost race has the name too.
type generation struct {
	names  *intern.Set
	uids   []number          // by name; 0: not known, for no UID is 0
	byUID  map[number]uint32 // names
	weight int
}

// number is a UID as a number, big-endian.
type number uint64

func numberOf(uid string) number {
	n := number(0)
	for i := range len(uid) {
		n = n<<8 | number(uid[i])
	}
	return n
}

func (n number) uid(width int) string {
	var b [8]byte
	for i := width - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return string(b[:width])
}

func newCache(entries int) *cache {
	c := &cache{limit: max(entries/2, 1), seed: maphash.MakeSeed()}
	c.new, c.old = c.generation(), c.generation()
	return c
}

func (c *cache) generation() *generation {
	return &generation{names: intern.New(c.seed), byUID: map[number]uint32{}}
}

// bytesOf is a string's bytes, to look at.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// forward returns the UID of a name.
func (c *cache) forward(name string, width int) (uid string, ok bool) {
	c.mu.RLock()
	uid, ok = c.new.forward(name, width)
	if ok {
		c.mu.RUnlock()
		return uid, true
	}
	uid, ok = c.old.forward(name, width)
	renames := c.renames
	c.mu.RUnlock()
	if ok {
		c.putForward(name, uid, renames)
	}
	return uid, ok
}

// moment returns what tells whether names were renamed since. It is taken before the table is read.
func (c *cache) moment() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.renames
}

func (g *generation) forward(name string, width int) (uid string, ok bool) {
	key := bytesOf(name)
	n, ok := g.names.Find(key, g.names.Hash(key))
	if !ok || g.uids[n] == 0 {
		return "", false
	}
	return g.uids[n].uid(width), true
}

// reverse returns the name of a UID.
func (c *cache) reverse(uid string) (name string, ok bool) {
	c.mu.RLock()
	name, ok = c.new.reverse(uid)
	if ok {
		c.mu.RUnlock()
		return name, true
	}
	name, ok = c.old.reverse(uid)
	renames := c.renames
	c.mu.RUnlock()
	if ok {
		c.putReverse(uid, name, renames)
	}
	return name, ok
}

func (g *generation) reverse(uid string) (name string, ok bool) {
	n, ok := g.byUID[numberOf(uid)]
	if !ok {
		return "", false
	}
	return g.names.String(n), true
}

// putForward, and what puts more, puts nothing if there was a rename since the moment of the reading.
func (c *cache) putForward(name, uid string, moment uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames != moment {
		return
	}
	c.makeSpace()
	n := c.name(name)
	c.new.uids[n] = numberOf(uid)
}

func (c *cache) putReverse(uid, name string, moment uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames != moment {
		return
	}
	c.makeSpace()
	c.new.setName(numberOf(uid), c.name(name))
}

// putBoth puts both directions. A UID that is known to have another name is being renamed: then
// neither name is certain, and both are forgotten.
func (c *cache) putBoth(name, uid string, moment uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames == moment {
		c.putNamed(name, uid)
	}
}

// putAll is putBoth for each of the names.
func (c *cache) putAll(names, uids []string, moment uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renames != moment {
		return
	}
	for i, name := range names {
		c.putNamed(name, uids[i])
	}
}

// putNamed needs mu.
func (c *cache) putNamed(name, uid string) {
	if c.isRenamed(numberOf(uid), name) {
		return
	}
	c.makeSpace()
	n := c.name(name)
	c.new.uids[n] = numberOf(uid)
	c.new.setName(numberOf(uid), n)
}

// isRenamed reports whether a UID is known to have another name. Then it forgets the UID and both
// names, in both generations: one must not show what the other hid. It needs mu.
func (c *cache) isRenamed(uid number, name string) (renamed bool) {
	for _, g := range []*generation{c.new, c.old} {
		if n, ok := g.byUID[uid]; ok && g.names.String(n) != name {
			renamed = true
			c.noteMoved(uid, g.names.String(n))
			c.forgetName(g.names.String(n))
		}
	}
	if !renamed {
		return false
	}
	c.forgetName(name)
	c.new.forgetUID(uid)
	c.old.forgetUID(uid)
	return true
}

// noteMoved notes a UID that has lost a name. It needs mu.
func (c *cache) noteMoved(uid number, name string) {
	if c.moved == nil {
		c.moved = map[number]string{}
	}
	if len(c.moved) < mostMoved {
		c.moved[uid] = name
	}
}

// takeMoved returns the UIDs that were seen to have another name since the last call.
func (c *cache) takeMoved() (moved map[number]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved, c.moved = c.moved, nil
	return moved
}

// putMoved takes back what takeMoved returned.
func (c *cache) putMoved(moved map[number]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, name := range moved {
		c.noteMoved(uid, name)
	}
}

func (c *cache) forgetName(name string) {
	c.new.forgetName(name)
	c.old.forgetName(name)
}

func (g *generation) forgetUID(uid number) {
	if _, ok := g.byUID[uid]; ok {
		delete(g.byUID, uid)
		g.weight--
	}
}

// forgetName forgets the UID of a name.
func (g *generation) forgetName(name string) {
	key := bytesOf(name)
	if n, ok := g.names.Find(key, g.names.Hash(key)); ok {
		g.uids[n] = 0
	}
}

func (g *generation) setName(uid number, name uint32) {
	if _, ok := g.byUID[uid]; !ok {
		g.weight++
	}
	g.byUID[uid] = name
}

// rename forgets what is known otherwise of UIDs which have these names, in both directions. It
// returns the UIDs of which something was forgotten, with a name that they had.
func (c *cache) rename(names map[number]string) (before map[number]string) {
	c.mu.Lock()
	c.renames++
	c.mu.Unlock()
	c.mu.RLock()
	stale := c.new.stale(names) || c.old.stale(names)
	c.mu.RUnlock()
	if !stale {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before = map[number]string{}
	c.new.rename(names, before)
	c.old.rename(names, before)
	return before
}

// forget forgets a UID and names of it: what was read before may be wrong.
func (c *cache) forget(uid string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renames++
	for _, name := range names {
		c.forgetName(name)
	}
	c.new.forgetUID(numberOf(uid))
	c.old.forgetUID(numberOf(uid))
}

// stale reports whether rename would find anything.
func (g *generation) stale(names map[number]string) bool {
	for uid, name := range names {
		if n, ok := g.byUID[uid]; ok && g.names.String(n) != name {
			return true
		}
	}
	for n, uid := range g.uids {
		if name, ok := names[uid]; ok && g.names.String(uint32(n)) != name {
			return true
		}
	}
	return false
}

// rename forgets the stale entries of a generation, and notes the names that they had.
func (g *generation) rename(names, before map[number]string) {
	for uid, name := range names {
		if n, ok := g.byUID[uid]; ok && g.names.String(n) != name {
			before[uid] = g.names.String(n)
			delete(g.byUID, uid)
			g.weight--
		}
	}
	for n, uid := range g.uids {
		if name, ok := names[uid]; ok && g.names.String(uint32(n)) != name {
			before[uid] = g.names.String(uint32(n))
			g.uids[n] = 0
		}
	}
}

// makeSpace begins a generation when the newer one is full of both directions. It needs mu.
func (c *cache) makeSpace() {
	if c.new.weight >= 2*c.limit {
		c.old, c.new = c.new, c.generation()
	}
}

// name returns the number of a name in the newer generation, which has it from now on. It needs mu.
func (c *cache) name(name string) uint32 {
	key := bytesOf(name)
	hash := c.new.names.Hash(key)
	if n, ok := c.new.names.Find(key, hash); ok {
		return n
	}
	c.new.weight += 1 + len(name)/usualEntry
	c.new.uids = append(c.new.uids, 0)
	return c.new.names.Add(key, hash)
}

// len counts directions: a name with its UID is two entries.
func (c *cache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.new.names.Len() + len(c.new.byUID) + c.old.names.Len() + len(c.old.byUID)
}
