package hatracker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// attempts is how often an election is tried while other processes are faster.
const attempts = 4

var (
	errContended = errors.New("which replica is elected changes again and again")
	// ErrWait is the error of data whose sender must repeat them: nobody knows yet whether the elected
	// replica is silent.
	ErrWait = errors.New("it is not known yet whether the elected replica is silent")
)

// elect asks the book who is elected, and records that data of a replica came, or that it is elected.
func (t *Tracker) elect(ctx context.Context, c *cluster, replica string, now time.Time) (bool, error) {
	if !c.voting.TryLock() {
		if c.holds(replica, now) {
			return true, nil // while another request asks
		}
		c.voting.Lock()
	}
	defer c.voting.Unlock()
	if v := c.judge(replica, now); v != unsure {
		return t.answer(c, v) // another request has asked
	}
	if c.failed.err != nil && c.failed.at.After(now) {
		return c.without(replica, now, c.failed.err) // another request has asked in vain
	}
	v, err := t.ask(ctx, c, replica, now)
	if err != nil {
		return c.without(replica, now, err)
	}
	return t.answer(c, v)
}

// ask votes until no other process is faster.
func (t *Tracker) ask(ctx context.Context, c *cluster, replica string, now time.Time) (verdict, error) {
	within, cancel := context.WithTimeout(ctx, bookTimeout)
	defer cancel()
	for range attempts {
		v, err := t.vote(within, c, replica, now)
		if err != nil {
			t.metrics.failures.Inc()
			if ctx.Err() == nil { // otherwise the client went away
				c.reach.failed()
				c.failed = failure{t.parts.Now(), err}
			}
			return unsure, err
		}
		if v != unsure {
			return v, nil
		}
	}
	return unsure, errContended
}

// without decides without the book, which failed: the elected replica goes on while no other process
// can have elected another one.
func (c *cluster) without(replica string, now time.Time, err error) (bool, error) {
	if c.holds(replica, now) {
		return true, nil
	}
	return false, err
}

// answer returns a verdict as Keep does.
func (t *Tracker) answer(c *cluster, v verdict) (bool, error) {
	if v != wait {
		return v == keep, nil
	}
	t.metrics.waits.Inc()
	p := c.pair()
	return false, fmt.Errorf("%w (cluster %q, replica %q): the store could not be reached, or tsdbridge was started, within the last %v (--write.dedup.failover-timeout)",
		ErrWait, p.Cluster, p.Elected, t.o.Failover)
}

// vote reads the record of a cluster and changes it if need be. It is unsure if another process was
// faster.
func (t *Tracker) vote(ctx context.Context, c *cluster, replica string, now time.Time) (verdict, error) {
	entry, err := t.parts.Book.Read(ctx, c.name)
	if err != nil {
		return unsure, err
	}
	c.reach.answered(t.parts.Now())
	former := entry.Election
	c.learn(entry, now)
	if former.Elected != "" && former.Elected != replica {
		if v := c.judge(replica, now); v != unsure {
			return v, nil
		}
		if c.reach.span(now) <= c.failover {
			return wait, nil // it was silent because nobody could hear it
		}
	}
	next := storage.Election{Elected: replica, Since: now.UnixMilli(), Heard: now.UnixMilli()}
	if former.Elected == replica {
		next.Since = former.Since
		if ahead := time.UnixMilli(former.Heard).Sub(now); ahead > 0 && ahead < c.update {
			next.Heard = former.Heard // the clocks of two processes differ a little
		}
	}
	entry, put, err := t.parts.Book.Replace(ctx, c.name, entry, next)
	if err != nil || !put {
		return unsure, err
	}
	c.learn(entry, now)
	if former.Elected != replica {
		t.elected(c.name, former, replica, now)
	}
	return keep, nil
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
