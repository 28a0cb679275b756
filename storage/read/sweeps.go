package read

import (
	"context"
	"fmt"
	"sync"
)

// sweeps reads a query's series in one sweep after the other. It is safe for concurrent use.
type sweeps struct {
	*selection

	mu      sync.Mutex // guards all below
	byKey   bool       // rows are read by key, without sweeps
	now     *sweep     // the last one that ran
	running bool
	most    int // series in the next sweep
	err     error
	changed chan struct{} // closed when any of these changes
}

func newSweeps(r *selection) *sweeps { return &sweeps{selection: r, changed: make(chan struct{})} }

// of returns the sweep that holds series i of the query; nil means that rows are to be read by
// group. A sweep runs when the one before was handed out whole, so only one is in memory. Its first
// series are always asked for by a reader that needs nothing else, which runs it; other readers
// wait.
func (s *sweeps) of(ctx context.Context, i int) (*sweep, error) {
	for {
		s.mu.Lock()
		now, changed := s.now, s.changed
		switch {
		case s.byKey || s.err != nil:
			defer s.mu.Unlock()
			return nil, s.err
		case s.running:
		case now != nil && i < now.to:
			s.mu.Unlock()
			return now, nil
		case now == nil && i == 0, now != nil && i == now.to && now.left.Load() == 0:
			s.running = true
			s.mu.Unlock()
			s.next(ctx, i)
			continue
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next runs the sweep that begins with a series.
func (s *sweeps) next(ctx context.Context, from int) {
	to := len(s.q.Refs)
	if from > 0 {
		to = min(to, from+s.most)
	}
	next := s.newSweep(from, to)
	byKey, err := from == 0 && !next.scans(), error(nil)
	if !byKey {
		err = next.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("read the rows of %d series: %w", len(s.q.Refs), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := next.charge.held.Load(); held > 0 {
		s.most = max(fewestOnShelf, int(float64(next.to-from)*min(float64(next.limit)/float64(held), 2)))
	}
	if byKey {
		s.near = nearMetrics(next.plans, next.members, s.o.Layout.MetricWidth)
	}
	if byKey || err != nil {
		next.end()
	}
	s.now, s.byKey, s.err, s.running = next, byKey, err, false
	s.change()
}

// change wakes those who wait. s.mu is held.
func (s *sweeps) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// done notes that some series of a sweep were handed out.
func (s *sweeps) done(now *sweep, series int) {
	if now.done(series) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change()
	}
}

// end gives the memory of a sweep back that was not handed out whole.
func (s *sweeps) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		s.now.end()
	}
}
