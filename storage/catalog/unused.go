package catalog

import (
	"sync"
	"time"
)

// unusedKeys remembers names of tag keys that had no UID, so that not every query asks a cluster for
// them. No series of the index has such a key until the index has another number of keys, or until
// another process gives a UID that name; so a name is remembered for a limited time. It is safe for
// concurrent use.
type unusedKeys struct {
	mu      sync.Mutex // guards all below
	names   map[string]unusedKey
	renames int // how often names were renamed
}

type unusedKey struct {
	keys  keysMoment
	until time.Time
}

// keysMoment tells whether the index has got keys, or keys other names, since it was taken.
type keysMoment struct {
	keys    int // of the index
	renames int
}

// moment returns that of an index of so many keys.
func (u *unusedKeys) moment(keys int) keysMoment {
	u.mu.Lock()
	defer u.mu.Unlock()
	return keysMoment{keys, u.renames}
}

// renamed forgets all names, also those that are being looked up.
func (u *unusedKeys) renamed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.names = nil
	u.renames++
}

// mostUnused bounds the names that are remembered.
const mostUnused = 1024

// has reports whether all of the names are known to be unused while the index has such keys.
func (u *unusedKeys) has(names []string, keys keysMoment, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range names {
		if k, ok := u.names[name]; !ok || k.keys != keys || !now.Before(k.until) {
			return false
		}
	}
	return true
}

// add remembers names that had no UID.
func (u *unusedKeys) add(names []string, keys keysMoment, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if keys.renames != u.renames {
		return
	}
	if u.names == nil || len(u.names)+len(names) > mostUnused {
		u.names = map[string]unusedKey{}
	}
	for _, name := range names {
		u.names[name] = unusedKey{keys, until}
	}
}
