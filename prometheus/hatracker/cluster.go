package hatracker

import (
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A timing is how long things may take.
type timing struct {
	failover time.Duration // of silence, until another replica is elected
	update   time.Duration // between two records that the elected replica was heard
}

// cluster is what this process knows of a pair.
type cluster struct {
	name string
	timing
	reach *reach // of the book

	voting sync.Mutex // is held by the one that reads and writes the book, and guards what follows
	failed failure    // of the last question

	mu       sync.Mutex // guards what follows
	entry    storage.ElectionEntry
	heard    time.Time // when data of the elected replica came last, here or as of the book
	unstored bool      // these could not be stored, so the replica sends them again
	asked    time.Time // when the data came for which the book was read last
	last     time.Time // when data of any replica came here last
	dropped  int64
}

// failure is when a question to the book failed, and why.
type failure struct {
	at  time.Time
	err error
}

// A verdict is what is to become of data of a replica.
type verdict int

const (
	unsure verdict = iota // the book must be asked
	keep                  // they are stored
	drop                  // they are acknowledged and not stored
	wait                  // they must come again: it is not known whether the elected replica is silent
)

// judge decides of data of a replica, as far as it can be done without the book.
func (c *cluster) judge(replica string, now time.Time) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
	if c.heard.After(now) { // the clock was put back: the silence is counted from here
		c.heard = now
	}
	if c.entry.Elected != "" && c.entry.Elected != replica {
		return c.judgeOther(now)
	}
	if c.entry.Elected == "" || now.Sub(time.UnixMilli(c.entry.Heard)).Abs() >= c.update {
		return unsure // the record is old, or of a clock that was put back since
	}
	c.heard = now
	return keep
}

// judgeOther decides of data of a replica that is not elected. What the elected one could not store it
// sends again, if it still exists. So the other one keeps its data too until then.
func (c *cluster) judgeOther(now time.Time) verdict {
	silent := now.Sub(c.heard)
	switch {
	case silent > c.failover || c.reach.isAway():
		return unsure
	case c.unstored:
		return wait
	case silent > c.update && !c.asked.Equal(now): // another process may have elected this one
		return unsure
	}
	c.dropped++
	return drop
}

// holds reports whether nobody else can have been elected than a replica, by the record that this
// process knows.
func (c *cluster) holds(replica string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry.Elected == replica && now.Sub(time.UnixMilli(c.entry.Heard)).Abs() <= c.failover
}

// learn takes over what the book contains. What this process heard itself may be newer. A record that
// did not change tells nothing new, even if its time is in the future, of a clock that was put back.
func (c *cluster) learn(entry storage.ElectionEntry, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = now
	heard := time.UnixMilli(entry.Heard)
	if entry.Election == c.entry.Election {
		heard = c.heard
	}
	if entry.Elected != c.entry.Elected || heard.After(c.heard) {
		c.heard, c.unstored = heard, false
	}
	c.entry = entry
}

// done notes what became of data of a replica that were kept.
func (c *cluster) done(replica string, stored bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entry.Elected != replica {
		return
	}
	if c.unstored = !stored; c.unstored && now.After(c.heard) {
		c.heard = now // it waited for the answer until now
	}
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
