package source

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// reader reads the points of many series.
type reader struct{ store storage.Querier }

// each calls use, from several goroutines, with the points of each series that has any between
// start and end (milliseconds, inclusive). refs must be distinct; those that are neighbours in the
// store should be neighbours here.
func (r reader) each(ctx context.Context, refs []storage.Ref, start, end int64, use func(storage.Points)) error {
	return r.all(ctx, storage.Query{Refs: refs, Start: start, End: end, Samples: true}, use)
}

// all is each with a query.
func (r reader) all(ctx context.Context, query storage.Query, use func(storage.Points)) error {
	if err := r.store.SelectParts(ctx, query, func() storage.PartWorker { return partUser{use} }); err != nil {
		return err
	}
	return ctx.Err()
}

// partUser uses each series of a part. The order of the parts does not matter.
type partUser struct{ use func(storage.Points) }

// Take implements storage.PartWorker.
func (u partUser) Take(ctx context.Context, p storage.Part) error {
	points := 0
	for _, s := range p.Points {
		if n := s.Len(); n > 0 {
			points += n
			u.use(s)
		}
	}
	query.From(ctx).Read(points)
	return nil
}

// Commit implements storage.PartWorker.
func (partUser) Commit(context.Context) error { return nil }

// A reading is what one Fetch reads.
type reading struct {
	jobs   []*job
	pieces []*piece
}

// A job is slots of a target series that are to be filled.
type job struct {
	target *targetSeries
	grid   grid
	values []float64

	// of a target of several stored series: their points, which are sorted first, or their slots,
	// which are added
	mu     sync.Mutex // guards all below
	err    error      // the account is exhausted
	points []point
	parts  map[storage.Ref][]float64
	inner  innerSlots // of the slot in which a file ends
}

// pointBytes is the memory of a point until it is in its slot: in a list that grows, then in two
// sorted lists.
const pointBytes = 48

type point struct {
	time  int64 // milliseconds
	value float64
}

func (r *reading) add(l *targetSeries, g grid, values []float64) {
	r.jobs = append(r.jobs, &job{target: l, grid: g, values: values})
}

// run fills all slots. Jobs with the same time range are read together.
func (r *reading) run(ctx context.Context, from reader, archives Archives) error {
	if err := r.readKept(ctx, archives); err != nil {
		return err
	}
	type reach struct{ start, end int64 }
	together := map[reach][]*job{}
	for _, j := range r.jobs {
		_, end := j.grid.millis()
		if at := (reach{max(j.pointsFrom(), 0), min(end, storage.MaxTime)}); at.start <= at.end {
			together[at] = append(together[at], j)
		}
	}
	for at, jobs := range together {
		if err := from.fill(ctx, jobs, at.start, at.end); err != nil {
			return err
		}
	}
	for _, j := range r.jobs {
		j.finish()
	}
	for _, p := range r.pieces {
		p.read = true
	}
	return nil
}

// fill does jobs with the same time range. Series are read in the order in which the store
// numbered them, which is about that of their rows.
func (r reader) fill(ctx context.Context, jobs []*job, start, end int64) error {
	users := make(map[storage.Ref][]*job, len(jobs))
	refs := make([]storage.Ref, 0, len(jobs))
	for _, j := range jobs {
		for _, ref := range j.target.refs {
			if users[ref] == nil {
				refs = append(refs, ref)
			}
			users[ref] = append(users[ref], j)
		}
	}
	slices.Sort(refs)
	account := query.AccountOf(ctx)
	err := r.each(ctx, refs, start, end, func(p storage.Points) {
		for _, j := range users[p.Ref] {
			j.take(account, p)
		}
	})
	if err != nil {
		return fmt.Errorf("read %d series: %w", len(refs), err)
	}
	for _, j := range jobs {
		if j.err != nil {
			return j.err
		}
	}
	return nil
}

// take takes the points of a series.
func (j *job) take(account *query.Account, p storage.Points) {
	if len(j.target.refs) == 1 {
		j.target.layout.fill(j.grid, j.values, p.Times, p.Values, j.inner)
		return
	}
	if j.target.sum {
		j.takePart(p)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = account.Take(pointBytes * int64(len(p.Times)))
	}
	if j.err != nil {
		return
	}
	for i, t := range p.Times {
		j.points = append(j.points, point{t, p.Values[i]})
	}
}

// takePart keeps the slots of one of the series that are added.
func (j *job) takePart(p storage.Points) {
	j.mu.Lock()
	part := j.part(p.Ref)
	j.mu.Unlock()
	j.target.layoutOf(p.Ref).fill(j.grid, part, p.Times, p.Values, nil) // one goroutine reads a series
}

// part returns the slots of one of the series that are added. mu must be held.
func (j *job) part(ref storage.Ref) []float64 {
	if j.parts == nil {
		j.parts = make(map[storage.Ref][]float64, len(j.target.refs))
	}
	part := j.parts[ref]
	if part == nil {
		part = newSlots(j.grid.slots())
		j.parts[ref] = part
	}
	return part
}

// add adds the series up, in the order of their refs: sums depend on it. A slot without a point in
// any of them has none.
func (j *job) add() {
	for _, ref := range j.target.refs {
		for i, v := range j.parts[ref] {
			switch {
			case python.IsNone(v):
			case python.IsNone(j.values[i]):
				j.values[i] = v
			default:
				j.values[i] += v
			}
		}
	}
	j.parts = nil
}

// finish fills the slots of a target of several stored series: with their sum, or with the latest
// instant of one series under several spellings.
func (j *job) finish() {
	if j.target.sum {
		j.add()
		return
	}
	if len(j.points) == 0 {
		return
	}
	slices.SortFunc(j.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(math.Float64bits(a.value), math.Float64bits(b.value)))
	})
	times, values := make([]int64, len(j.points)), make([]float64, len(j.points))
	for i, p := range j.points {
		times[i], values[i] = p.time, p.value
	}
	j.target.layout.fill(j.grid, j.values, times, values, j.inner)
	j.points = nil
}
