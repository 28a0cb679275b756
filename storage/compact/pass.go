package compact

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// errLeaseLost ends a pass whose part another process has taken over.
var errLeaseLost = errors.New("another process has taken over")

// errPaused ends a walk that gives way to a pass. The lease has its position.
var errPaused = errors.New("hours have closed")

// work compacts the closed rows of a part that are next. held reports that another process does so.
func (c *Compactor) work(ctx context.Context, p part, l lease, choose chooser) (held bool, err error) {
	now := c.o.Now()
	if l.heldByOther(c.owner, now) {
		return true, nil
	}
	next, ok := choose(l.Lease, now)
	if !ok {
		return false, nil
	}
	next.Owner, next.Until, next.End = c.owner, now.Add(leaseTime).UnixMilli(), p.stop
	if ok, err := c.write(ctx, &l, next); !ok || err != nil {
		return !ok && err == nil, err
	}
	pass := pass{Compactor: c, part: p, lease: &l, renewed: now, course: c.courseOf(next)}
	err = pass.run(ctx)
	pass.log(err)
	if errors.Is(err, errLeaseLost) {
		return true, nil
	}
	return false, err
}

// next returns the lease with the hours that are to be looked at: those of an unfinished pass, those
// that have closed since, or some that are to be looked at again. It is false if there are none.
func (c *Compactor) next(l own.Lease, now time.Time) (own.Lease, bool) {
	if l.To > 0 {
		return l, true
	}
	closed := baseBefore(now.Add(-c.o.After))
	first := baseBefore(now.Add(-c.o.After - horizon))
	late := baseBefore(now.Add(-c.o.After - lateAfter))
	if l.Done == 0 { // hours before late are looked at once, late enough
		l.Done, l.Again = first, late
	}
	switch {
	case l.Done < closed:
		l.From, l.To = l.Done, closed
	case l.Again+lateHours*schema.RowSeconds <= late:
		l.From, l.To = l.Again, late
	default:
		return l, false
	}
	l.At = nil
	return l, true
}

// finished is the lease after a pass.
func finished(l own.Lease) own.Lease {
	if l.Walk > 0 && l.To == 0 {
		l.Walked, l.Walk, l.WalkAt = l.Walk, 0, nil
		return l
	}
	if l.To > l.Done {
		l.Done = l.To
	} else {
		l.Again = max(l.Again, l.To)
	}
	l.From, l.To, l.At = 0, 0, nil
	return l
}

// baseBefore is the base time of the hour that a time lies in: the hours before it are over.
func baseBefore(t time.Time) uint32 {
	return schema.Base(min(max(t.UnixMilli(), 0), int64(math.MaxUint32)*1000))
}

// giveBackTime bounds how long a process that is ending takes to give its lease back.
const giveBackTime = 5 * time.Second

// A pass looks at some hours of a part.
type pass struct {
	*Compactor
	part
	course
	lease   *lease
	renewed time.Time // when the lease was written last
	dense   bool      // most rows that were looked at last had several cells
	done    tally
	begun   time.Time
}

// run carries a pass out. When it ends, also by an error, the lease records how far it came.
func (p *pass) run(ctx context.Context) error {
	p.begun = time.Now()
	err := p.allMetrics(ctx)
	if errors.Is(err, errLeaseLost) {
		return err
	}
	// The lease is given back even if the process is ending.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	next := p.lease.Lease
	switch {
	case err == nil:
		next = finished(next)
	case errors.Is(err, errPaused):
		err = nil
	}
	next.Owner, next.Until = "", 0
	_, giveErr := p.write(last, p.lease, next)
	return errors.Join(err, giveErr)
}

// allMetrics goes from metric to metric and finds the metrics by their rows, because the rows of an
// hour of one metric are neighbours.
func (p *pass) allMetrics(ctx context.Context) error {
	at := append([]byte{}, p.start...) // nil is the end
	if bytes.Compare(p.at, at) > 0 {
		at = p.at
	}
	for at != nil && (len(p.stop) == 0 || bytes.Compare(at, p.stop) < 0) {
		key, err := p.firstRow(ctx, at)
		if err != nil || key == nil {
			return err
		}
		rows, ok := p.o.Layout.RowsBetween(key, p.from, p.to)
		if ok {
			if err := p.metric(ctx, rows, at); err != nil {
				return err
			}
		}
		if at = rows.Next; at != nil {
			if err := p.reach(ctx, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstRow is the first row key of the part from a key on, nil if there is none.
func (p *pass) firstRow(ctx context.Context, from []byte) ([]byte, error) {
	scan := kv.Scan{Table: p.o.Data, Family: schema.FamilyData, Start: from, Stop: p.stop, KeysOnly: true, Limit: 1}
	for row, err := range p.o.DB.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("look for closed rows: %w", err)
		}
		return row.Key, nil
	}
	return nil, nil
}

// reach notes from time to time that all rows before a key were looked at.
func (p *pass) reach(ctx context.Context, at []byte) error {
	now := p.o.Now()
	if now.Sub(p.renewed) < renewEvery {
		return nil
	}
	next := p.lease.Lease
	next.Until = now.Add(leaseTime).UnixMilli()
	if p.walks() {
		next.WalkAt = at
	} else {
		next.At = at
	}
	ok, err := p.write(ctx, p.lease, next)
	if err == nil && !ok {
		err = errLeaseLost
	}
	p.renewed = now
	if _, due := p.next(p.lease.Lease, now); err == nil && due && p.walks() {
		err = errPaused
	}
	return err
}

// toldEvery is how often it is logged what the passes did.
const toldEvery = 24 * time.Hour

// log reports what a pass did: damaged rows at once, the rest once a day, with sums since the start.
func (p *pass) log(err error) {
	d := &p.done
	var all Status
	p.note(func(s *Status) { s.Rows, s.Removed = s.Rows+d.rows, s.Removed+d.removed; all = *s })
	if d.rows == 0 && d.damaged == 0 {
		return
	}
	l, level := p.lease, slog.LevelDebug
	if d.damaged > 0 {
		level = slog.LevelWarn
	}
	if p.due() {
		p.o.Logger.Info("compacted closed rows", "table", p.o.Data, "rows", all.Rows, "cells_removed", all.Removed)
	}
	p.o.Logger.Log(context.Background(), level, "a pass over closed rows ended; damaged ones are left, look at them with tsdbridge fsck", "table", p.o.Data, "rows", d.rows, "cells_removed", d.removed, "bytes_before", d.before, "bytes_after", d.after,
		"rows_read", d.read, "rows_damaged", d.damaged, "duration", time.Since(p.begun), "part", hex.EncodeToString(p.start), "walk", p.walks(), "done_until", time.Unix(int64(l.Done), 0).UTC(), "ended_early", err != nil)
}

// due reports, once in toldEvery, that it is time to log.
func (c *Compactor) due() bool {
	c.statusMu.Lock()
	defer c.statusMu.Unlock()
	now := c.o.Now()
	if now.Sub(c.told) < toldEvery {
		return false
	}
	c.told = now
	return true
}
