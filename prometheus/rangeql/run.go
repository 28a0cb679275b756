package rangeql

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/budget"
)

// A run evaluates a plan over columns, on all cores, one series at a time.
type run struct {
	plan       *plan
	columns    Columns
	maxSamples int
	slabs      *slabs

	samples  atomic.Int64 // the library's greatest number of samples, without those of one step
	account  *budget.Account
	claimed  atomic.Int64 // points of the answer that memory was taken for
	series   []promql.Series
	added    []int // to groups; of a function
	groups   *groups
	count    sampleCount
	names    nameCheck
	warnings annotations.Annotations
}

func newRun(p *plan, c Columns, maxSamples int, s *slabs) *run {
	r := &run{plan: p, columns: c, maxSamples: maxSamples, slabs: s}
	if p.aggregate != nil {
		r.groups = newGroups(p, maxSamples/2) // a cell is larger than a sample
	}
	return r
}

// matrix returns the answer, in the order that the library gives an instant vector.
func (r *run) matrix(ctx context.Context) (promql.Matrix, error) {
	r.account = budget.From(ctx)
	if r.groups != nil {
		r.groups.account = r.account
	}
	if err := r.evaluate(ctx); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	m := r.series
	if r.groups != nil {
		m = r.groups.matrix(r.slabs)
	}
	for _, o := range r.plan.numbers {
		var err error
		if m, err = r.operate(o, m); err != nil {
			return nil, err
		}
	}
	if m, err := r.repeat(m); err != nil || !r.plan.delayed {
		return m, err
	}
	return r.dropNames(m)
}

// dropNames is the delayed removal of names.
func (r *run) dropNames(m promql.Matrix) (promql.Matrix, error) {
	for i := range m {
		if m[i].DropName {
			m[i].Metric = m[i].Metric.DropReserved(isMetadata)
		}
	}
	if !r.names.several {
		return m, nil
	}
	return m, distinct(len(m), func(i int) labels.Labels { return m[i].Metric })
}

// partPoints is how many points a part may have.
const partPoints = 1 << 17

func (r *run) evaluate(ctx context.Context) error {
	var workers []*worker
	err := r.columns.Read(ctx, max(1, partPoints/r.plan.steps), func() ColumnWorker {
		w := &worker{run: r, evaluator: evaluator{plan: r.plan}}
		workers = append(workers, w)
		return w
	})
	for _, w := range workers {
		r.end(w)
	}
	if err == nil || slices.ContainsFunc(workers, func(w *worker) bool { return w.failed != nil && errors.Is(err, w.failed) }) {
		return err
	}
	if ended := contextError(ctx); ended != nil && errors.Is(err, ctx.Err()) { // of a wait for the turn
		return ended
	}
	return expanding(err)
}

func (r *run) end(w *worker) {
	w.scratch.free()
	r.slabs.join(&w.slabs)
	r.count.add(w.evaluator.count)
}

// hold counts points that the library would have in memory at once. Near the limit it hands the
// query over to the library, which knows exactly when the limit is exceeded.
func (r *run) hold(n int) error {
	if r.samples.Add(int64(n)) > int64(r.maxSamples) {
		return ErrHandOver
	}
	return nil
}

// claimPoints is how many points memory is taken for at once.
const claimPoints = slabPoints

// claim takes memory for what hold counted. Aggregations need none: they reuse the memory of their
// points.
func (r *run) claim() error {
	for held := r.samples.Load(); ; {
		claimed := r.claimed.Load()
		if held <= claimed {
			return nil
		}
		more := (held - claimed + claimPoints - 1) / claimPoints * claimPoints
		if r.claimed.CompareAndSwap(claimed, claimed+more) {
			return r.account.Take(more * pointBytes)
		}
	}
}

// release gives back the memory of an answer that is not returned.
func (r *run) release() {
	r.account.Give(r.claimed.Swap(0) * pointBytes)
	if r.groups != nil {
		r.account.Give(r.groups.bytes())
	}
}

// pointBytes is the size of a promql.FPoint.
const pointBytes = 16

// check runs the checks that need all series. It leaves refusing a query to the library.
func (r *run) check() error {
	if err := r.hold(r.count.most); err != nil {
		return err
	}
	if !r.plan.dropsName() || r.plan.delayed || !r.names.several {
		return nil
	}
	if r.groups == nil {
		return distinct(len(r.series), func(i int) labels.Labels { return r.series[i].Metric })
	}
	return distinct(len(r.added), func(i int) labels.Labels { return r.plan.metric(r.columns.Labels(r.added[i])) })
}

// distinct returns ErrHandOver if labels repeat. Like the library, it treats label sets with the
// same hash as equal.
func distinct(n int, of func(i int) labels.Labels) error {
	seen := make(map[uint64]struct{}, n)
	for i := range n {
		seen[of(i).Hash()] = struct{}{}
	}
	if len(seen) < n {
		return ErrHandOver
	}
	return nil
}

// operate applies an operation to all points.
func (r *run) operate(o operation, m promql.Matrix) (promql.Matrix, error) {
	kept, points, input := m[:0], 0, len(m)
	for _, s := range m {
		s.Floats = o.all(s.Floats)
		if points += len(s.Floats); len(s.Floats) == 0 {
			continue
		}
		if o.dropsName() {
			s.DropName = true
			if !r.plan.delayed {
				s.Metric = s.Metric.DropReserved(isMetadata)
			}
		}
		kept = append(kept, s)
	}
	if o.dropsName() && !r.plan.delayed && r.names.several {
		// The library would join such series where their points do not overlap.
		if err := distinct(len(kept), func(i int) labels.Labels { return kept[i].Metric }); err != nil {
			return nil, err
		}
	}
	// The library has input, number and result of a step, and the results of the steps before.
	return kept, r.hold(points + 2*input + 2*r.plan.steps + 2)
}

// repeat copies the only step of a query that does not depend on time to all steps.
func (r *run) repeat(m promql.Matrix) (promql.Matrix, error) {
	p := r.plan
	if p.repeat == 1 {
		return m, nil
	}
	if p.steps > 1 {
		return m, nil
	}
	if err := r.hold(len(m) * p.repeat); err != nil {
		return nil, err
	}
	if err := r.claim(); err != nil {
		return nil, err
	}
	for i := range m {
		points := r.slabs.take(p.repeat)
		for step := range p.repeat {
			points = append(points, promql.FPoint{T: p.time(step), F: m[i].Floats[0].F})
		}
		m[i].Floats = r.slabs.give(points)
	}
	r.count.total *= int64(p.repeat)
	return m, nil
}

// commit accepts the series of a part that have points. Parts come in order.
func (r *run) commit(found []evaluated) error {
	for _, f := range found {
		ls := r.columns.Labels(f.series)
		r.see(ls)
		if r.groups == nil {
			r.series = append(r.series, promql.Series{Metric: r.plan.metric(ls), Floats: f.points, DropName: r.plan.dropsName()})
			continue
		}
		if r.plan.dropsName() {
			r.added = append(r.added, f.series)
		}
		if err := r.groups.add(ls, f.points); err != nil {
			return err
		}
	}
	return nil
}

// see records the name of a series that has points.
func (r *run) see(ls labels.Labels) {
	name, changed := r.names.see(ls)
	if changed && r.plan.function != nil && r.plan.function.counter && name != "" && !namedAsCounter(name) {
		r.warnings.Add(annotations.NewPossibleNonCounterInfo(name, r.plan.argument))
	}
}

func isMetadata(label string) bool { return schema.IsMetadataLabel(label) }
