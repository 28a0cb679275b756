package read

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// groupSamples is how many samples are read before the first of their series is given. Two
	// groups are in memory at a time, 16 bytes a sample.
	groupSamples = 256 << 10
	// clusterSamples is likewise for engines that make cells: each scan goes over the rows of the
	// whole metric, and one over a network has to begin first.
	clusterSamples = 1 << 20
	// groupSeries bounds a group whose series have few samples each.
	groupSeries = 16 << 10
	// fewestSeries is the size of the smallest group, however long the range: a scan goes over the
	// rows of all others.
	fewestSeries = 8
	// densestInterval is the sample interval, in milliseconds, that the size of the first group is
	// estimated with. The others know the one before.
	densestInterval = 10_000
)

// Select implements Querier. The series are read in groups, one ahead of the caller.
func (s *Reader) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	return func(yield func(storage.Points, error) bool) {
		if q = q.Clamped(); q.Empty() {
			return
		}
		r, err := s.newSelection(q)
		if err == nil {
			r.yield, r.account, r.tally = yield, query.AccountOf(ctx), query.TallyOf(ctx)
			err = r.read(ctx)
			r.end()
		}
		if err != nil && !r.stopped {
			yield(storage.Points{}, err)
		}
	}
}

// selection is one Select under way.
type selection struct {
	*Reader
	q           storage.Query
	first, last uint32 // bases of the range's rows, seconds
	perSeries   int    // estimated samples of a series
	yield       func(storage.Points, error) bool
	stopped     bool    // the caller left the loop
	samples     int     // given so far
	readers     int     // goroutines that read a group
	sweeps      *sweeps // nil: rows are read by group
	// near are the metrics of a shared engine whose rows are near to each other in the whole query, though they
	// need not be in a group of it; nil: not known yet.
	near    map[string]bool
	outcome outcome
	account *query.Account
	tally   *query.Tally // of the caller
}

func (s *Reader) newSelection(q storage.Query) (*selection, error) {
	r := &selection{Reader: s, q: q, first: schema.Base(q.Start), last: schema.Base(q.End), readers: s.readWorkers()}
	if r.perSeries = int(max((q.End-q.Start)/densestInterval, 1)); r.newestAlone() {
		r.perSeries = 1
	}
	if s.o.DB.Local == nil {
		r.sweeps = newSweeps(r)
	}
	if err := s.o.Ready(); err != nil {
		return r, err
	}
	for _, ref := range q.Refs {
		if err := ref.Check(s.o.Index.Len()); err != nil {
			return r, err
		}
	}
	return r, nil
}

// read reads all groups.
func (r *selection) read(ctx context.Context) error {
	if n := r.groupSize(len(r.q.Refs)); n < len(r.q.Refs) {
		return r.readAhead(ctx)
	}
	g := r.groups.Get().(*seriesGroup)
	defer r.put(g)
	if err := g.read(ctx, r, 0, len(r.q.Refs)); err != nil {
		return err
	}
	return r.give(g)
}

// put keeps a group for other readers, which pay for it themselves.
func (r *selection) put(g *seriesGroup) {
	g.charge.end()
	r.groups.Put(g)
}

// groupSize is how many of the series that are left to read next. Groups are of about one size, so
// that none is left over.
func (r *selection) groupSize(left int) int {
	samples := clusterSamples
	if r.o.DB.Local != nil {
		samples = groupSamples
	}
	n := min(max(samples/r.perSeries, fewestSeries), groupSeries)
	groups := (left + n - 1) / n
	return (left + groups - 1) / groups
}

// readAhead reads a group while the caller has the one before.
func (r *selection) readAhead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	groups, free := make(chan *seriesGroup), make(chan *seriesGroup, 2)
	for range cap(free) {
		free <- r.groups.Get().(*seriesGroup)
	}
	var reading errgroup.Group
	reading.Go(func() error {
		defer close(groups)
		return r.readGroups(ctx, groups, free)
	})
	defer func() {
		for range len(free) {
			r.put(<-free)
		}
	}()
	err := r.giveAll(groups, free, cancel)
	if failed := reading.Wait(); err == nil && !r.stopped {
		return failed
	}
	return err
}

// giveAll gives group after group until there are no more; it always sees the reading end.
func (r *selection) giveAll(groups <-chan *seriesGroup, free chan<- *seriesGroup, cancel func()) error {
	defer func() {
		cancel()
		for g := range groups {
			free <- g
		}
	}()
	for g := range groups {
		err := r.give(g)
		free <- g // there is room for all groups there are
		if err != nil || r.stopped {
			return err
		}
	}
	return nil
}

func (r *selection) readGroups(ctx context.Context, groups chan<- *seriesGroup, free <-chan *seriesGroup) error {
	for from, all := 0, len(r.q.Refs); from < all; {
		var g *seriesGroup
		select {
		case g = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		n := r.groupSize(all - from)
		if err := g.read(ctx, r, from, from+n); err != nil {
			return err
		}
		r.learn(g)
		select {
		case groups <- g:
		case <-ctx.Done():
			return ctx.Err()
		}
		from += n
	}
	return nil
}

// end gives back what is left of a sweep, and remembers how the selection was read.
func (r *selection) end() {
	if r.sweeps != nil {
		r.sweeps.end()
	}
	r.remember()
}

// refsOf are the series of a group.
func (r *selection) refsOf(g *seriesGroup) []storage.Ref {
	g.refs = g.refs[:0]
	for i := range g.points {
		g.refs = append(g.refs, g.points[i].Ref)
	}
	return g.refs
}

// learn adapts the size of the next group to the samples of one, a quarter more being allowed for.
// A group of few samples tells little of the next.
func (r *selection) learn(g *seriesGroup) {
	seen := int(g.samples.Load())/len(g.points)*5/4 + 1
	r.perSeries = max(seen, r.perSeries/4, 1)
}

// give hands the series of a group to the caller, except for those without points, and keeps the
// answer within its limit.
func (r *selection) give(g *seriesGroup) error {
	r.samples += int(g.samples.Load())
	if limit := r.q.MaxSamples; limit > 0 && r.samples > limit {
		return r.tooMany()
	}
	for i := range g.points {
		if p := &g.points[i]; p.Len() > 0 && !r.yield(*p, nil) {
			r.stopped = true
			return nil
		}
	}
	return nil
}

func (r *selection) tooMany() error {
	return fmt.Errorf("%w: the query selects more than %d samples", storage.ErrLimit, r.q.MaxSamples)
}
