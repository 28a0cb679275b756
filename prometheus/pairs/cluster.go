package pairs

import (
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// cluster is what this process knows of a pair.
type cluster struct {
	name string

	voting sync.Mutex // is held by the one that reads and writes the book

	mu      sync.Mutex // guards what follows
	entry   storage.ElectionEntry
	heard   time.Time // when data of the elected replica came last, here or as of the book
	last    time.Time // when data of any replica came here last
	dropped int64
}

// judge reports whether data of a replica are to be kept, as far as is known without the book. sure
// is false if it must be asked.
func (c *cluster) judge(replica string, now time.Time, update, failover time.Duration) (keep, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
	if c.heard.After(now) { // the clock was put back: the silence is counted from here
		c.heard = now
	}
	switch {
	case c.entry.Elected == "":
		return false, false
	case c.entry.Elected != replica:
		if now.Sub(c.heard) > failover {
			return false, false
		}
		c.dropped++
		return false, true
	case now.Sub(time.UnixMilli(c.entry.Heard)).Abs() >= update:
		return false, false // it is old, or of a clock that was put back since
	}
	c.heard = now
	return true, true
}

// holds reports whether nobody else can have been elected than a replica, by the record that this
// process knows.
func (c *cluster) holds(replica string, now time.Time, failover time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry.Elected == replica && now.Sub(time.UnixMilli(c.entry.Heard)).Abs() <= failover
}

// learn takes over what the book contains. What this process heard itself may be newer. A record that
// did not change tells nothing new, even if its time is in the future, of a clock that was put back.
func (c *cluster) learn(entry storage.ElectionEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := time.UnixMilli(entry.Heard)
	if entry.Election == c.entry.Election {
		heard = c.heard
	}
	if entry.Elected != c.entry.Elected || heard.After(c.heard) {
		c.heard = heard
	}
	c.entry = entry
}

func (c *cluster) lastData() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *cluster) pair() Pair {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := Pair{Cluster: c.name, Elected: c.entry.Elected, LastHeard: c.heard.UTC(), Dropped: c.dropped}
	p.Since = time.UnixMilli(c.entry.Since).UTC()
	return p
}
