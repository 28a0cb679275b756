package read

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/index"
)

const (
	// sweepTasks is how many reads of a sweep run at a time. Regions are read in parallel.
	sweepTasks = 8
	// mostShelves bounds the shelves of a sweep, and with them the steps in which it can give
	// memory back.
	mostShelves = 64
	// fewestOnShelf is the smallest number of series on a shelf.
	fewestOnShelf = 64
	// sweepShare is the part of the budget that one sweep may hold, and unlimitedSweep is likewise
	// for queries without a budget.
	sweepShare     = 4
	unlimitedSweep = 1 << 30
	smallestSweep  = 1 << 20
)

// A sweep reads all rows that many series have in a range, in one pass over the tables, and holds
// them packed until their turn comes in the order of the query. A scan goes over the rows of all
// series of a metric, hour by hour, so scans for a few series at a time would read everything again
// each time.
//
// It holds a bounded share of the query's budget. When that is used up, it drops the series at the
// end of the order, which another sweep reads later.
type sweep struct {
	*selection
	from, to int      // of the query's series; to shrinks
	members  []member // in the order of the table
	owners   []int32  // by series: the first one with the same TSUID
	plans    []plan
	reads    []atomic.Int64 // by plan: rows read
	perShelf int
	shelves  []*shelf
	live     atomic.Int32 // shelves that are not dropped
	limit    int64
	charge   charge

	mu   sync.Mutex   // held to drop shelves
	left atomic.Int64 // series that were not handed out
}

// newSweep plans a sweep over the query's series [from, to).
func (r *selection) newSweep(from, to int) *sweep {
	s := &sweep{selection: r, from: from, to: to}
	s.charge.account = r.account
	var g seriesGroup
	g.order(r.Reader, r.q.Refs[from:to])
	s.members = g.members
	s.plans = r.appendPlans(nil, s.members)
	s.reads = make([]atomic.Int64, len(s.plans))
	s.owners = make([]int32, to-from)
	for i := range s.owners {
		s.owners[i] = int32(i)
	}
	for _, d := range g.duplicates {
		s.owners[d.at] = int32(d.of)
	}
	return s
}

// scans reports whether the sweep is worth it: rows that are asked for by key are read by group
// without waste.
func (s *sweep) scans() bool {
	for _, p := range s.plans {
		if p.kind.scans() {
			return true
		}
	}
	return false
}

// memberBytes is what a sweep takes for each series before it has a row.
const memberBytes = 64

// run reads everything.
func (s *sweep) run(ctx context.Context) error {
	if err := s.charge.take(int64(len(s.owners)) * memberBytes); err != nil {
		return err
	}
	s.limit = s.sweepLimit()
	s.putUpShelves()
	if err := s.takeHead(); err != nil {
		return err
	}
	tasks, err := s.tasks(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(sweepTasks)
	for _, t := range tasks {
		reading.Go(func() error { return t.run(ctx, s) })
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	s.to = min(s.to, s.from+int(s.live.Load())*s.perShelf)
	s.left.Store(int64(s.to - s.from))
	s.note(time.Since(begin))
	return nil
}

// sweepLimit is how many bytes a sweep may hold.
func (r *selection) sweepLimit() int64 {
	if r.o.SweepBytes > 0 {
		return r.o.SweepBytes
	}
	if limit := r.account.Limit(); limit > 0 {
		return max(limit/sweepShare, smallestSweep)
	}
	return unlimitedSweep
}

func (s *sweep) putUpShelves() {
	n := s.to - s.from
	s.perShelf = max(fewestOnShelf, (n+mostShelves-1)/mostShelves)
	for at := 0; at < n; at += s.perShelf {
		s.shelves = append(s.shelves, &shelf{from: s.from + at, last: make([]int32, min(s.perShelf, n-at))})
	}
	s.live.Store(int32(len(s.shelves)))
}

// takeHead copies what the head has of all series, because a row that is put and dropped before it
// is read would be in neither otherwise.
func (s *sweep) takeHead() error {
	if s.o.Head == nil {
		return nil
	}
	for n, shelf := range s.shelves {
		if n >= int(s.live.Load()) {
			return nil
		}
		for i := range shelf.last {
			id := uint32(index.IDOf(s.q.Refs[shelf.from+i]))
			shelf.taken = append(shelf.taken, s.o.Head.Take(id, s.q.Start, s.q.End, &shelf.head))
		}
		s.countHead(shelf.taken, shelf.head.Size())
		shelf.bytes += int64(shelf.head.Size())
		if err := s.hold(int64(shelf.head.Size())); err != nil {
			return err
		}
	}
	return nil
}

// keep packs a row of the query's series.
func (s *sweep) keep(at int, base uint32, packed []byte) error {
	n := at / s.perShelf
	if n >= int(s.live.Load()) {
		return nil
	}
	grown := s.shelves[n].add(at%s.perShelf, base, packed)
	if grown == 0 {
		return nil
	}
	return s.hold(grown)
}

// hold counts memory. It drops shelves when there is too much of it, but never the first one.
func (s *sweep) hold(n int64) error {
	err := s.charge.take(n)
	if err == nil && s.charge.held.Load() <= s.limit {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for taken := err == nil; ; {
		if taken && s.charge.held.Load() <= s.limit {
			return nil
		}
		live := int(s.live.Load())
		if live == 1 {
			return err // a limit of its own never fails a query
		}
		s.live.Store(int32(live / 2))
		for _, shelf := range s.shelves[live/2 : live] {
			s.charge.give(shelf.drop())
		}
		if !taken {
			err = s.charge.take(n)
			taken = err == nil
		}
	}
}

// done notes that some series were handed out, and reports whether all were.
func (s *sweep) done(series int) bool {
	if s.left.Add(-int64(series)) > 0 {
		return false
	}
	s.end()
	return true
}

// end forgets everything.
func (s *sweep) end() {
	s.charge.end()
	s.shelves, s.members = nil, nil
}
