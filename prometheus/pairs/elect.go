package pairs

import (
	"context"
	"errors"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// attempts is how often an election is tried while other processes are faster.
const attempts = 4

var errContended = errors.New("which replica is elected changes again and again")

// elect asks the book who is elected, and records that data of a replica came, or that it is elected.
func (t *Tracker) elect(ctx context.Context, c *cluster, replica string, now time.Time) (bool, error) {
	if !c.voting.TryLock() {
		if c.holds(replica, now, t.o.Failover) {
			return true, nil // another request records it
		}
		c.voting.Lock()
	}
	defer c.voting.Unlock()
	if keep, sure := c.judge(replica, now, t.update, t.o.Failover); sure {
		return keep, nil // another request has asked
	}
	ctx, cancel := context.WithTimeout(ctx, bookTimeout)
	defer cancel()
	for range attempts {
		keep, done, err := t.vote(ctx, c, replica, now)
		if err == nil && !done {
			continue
		}
		if err == nil {
			return keep, nil
		}
		t.metrics.failures.Inc()
		if c.holds(replica, now, t.o.Failover) {
			return true, nil // no other process can have elected another one
		}
		return false, err
	}
	return false, errContended
}

// vote reads the record of a cluster and changes it if need be; done is false if another process was
// faster.
func (t *Tracker) vote(ctx context.Context, c *cluster, replica string, now time.Time) (keep, done bool, err error) {
	entry, err := t.parts.Book.Read(ctx, c.name)
	if err != nil {
		return false, false, err
	}
	former := entry.Election
	c.learn(entry)
	if former.Elected != "" && former.Elected != replica {
		if keep, sure := c.judge(replica, now, t.update, t.o.Failover); sure {
			return keep, true, nil
		}
	}
	next := storage.Election{Elected: replica, Since: now.UnixMilli(), Heard: now.UnixMilli()}
	if former.Elected == replica {
		next.Since = former.Since
		if ahead := time.UnixMilli(former.Heard).Sub(now); ahead > 0 && ahead < t.update {
			next.Heard = former.Heard // the clocks of two processes differ a little
		}
	}
	entry, put, err := t.parts.Book.Replace(ctx, c.name, entry, next)
	if err != nil || !put {
		return false, false, err
	}
	c.learn(entry)
	if former.Elected != replica {
		t.elected(c.name, former, replica, now)
	}
	return true, true, nil
}

// elected tells of an election.
func (t *Tracker) elected(name string, former storage.Election, replica string, now time.Time) {
	t.metrics.elections.Inc()
	if former.Elected == "" {
		t.parts.Logger.Info("replica elected", "cluster", name, "replica", replica)
		return
	}
	silent := now.Sub(time.UnixMilli(former.Heard))
	t.parts.Logger.Warn("replica elected, since the former one is silent", "cluster", name, "replica", replica, "former", former.Elected, "silent", silent)
}
