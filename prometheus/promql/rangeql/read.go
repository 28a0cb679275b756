package rangeql

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/tally"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// A read is the samples of one selector, read once for all leaves of the plan that need them.
type read struct {
	selector columns.Selector
	leaves   []*leaf
	shared   bool // may get further leaves

	done bool
	err  error

	found     int   // series
	samples   int64 // that were read
	summaries int64 // that were read
	took      time.Duration
	computing time.Duration // of all workers
	rows      *tally.Tally  // nil before it runs
}

// needsNewest reports whether no leaf needs more than the newest sample of each series.
func (r *read) needsNewest() bool {
	for _, l := range r.leaves {
		if _, end := l.window(0); l.function != nil || l.smooth || l.grid.Steps != 1 || end != r.selector.End {
			return false
		}
	}
	return true
}

// instants reports whether the newest sample within a lookback is all that is needed at each step.
func (r *read) instants(lookback int64) bool {
	for _, l := range r.leaves {
		if l.function != nil || l.smooth || l.length != lookback {
			return false
		}
	}
	return len(r.leaves) > 0
}

// run reads, and gives every leaf its series.
func (r *read) run(e *evaluation) error {
	if !r.done {
		r.done = true
		watch := e.start()
		r.err = r.all(e)
		r.took = e.stop(watch)
	}
	return r.err
}

// partPoints is how many points of the answer a part may have. The samples of a part should stay in the
// processor's cache until they are evaluated.
const partPoints = 1 << 14

func (r *read) all(e *evaluation) error {
	ctx, rows := tally.Begin(e.ctx)
	r.rows = rows
	set, err := e.find(ctx, r.selector, r.points())
	if err != nil {
		return expanding(err)
	}
	r.found = set.Len()
	steps := 1
	for _, l := range r.leaves {
		steps = max(steps, l.grid.Steps)
		l.columns = set
		if err := l.begin(e); err != nil {
			return err
		}
	}
	var workers []*readWorker
	err = set.Read(ctx, max(1, partPoints/steps), func() columns.Worker {
		w := newReadWorker(r, e)
		workers = append(workers, w)
		return w
	})
	failed := make([]error, len(workers))
	for i, w := range workers {
		w.end()
		failed[i] = w.failed
	}
	if err != nil {
		return e.readingError(err, failed)
	}
	for _, l := range r.leaves {
		// The library has the samples of a step in memory, beside those of the answer.
		if err := e.peak(l.count.most + l.count.kept); err != nil {
			return err
		}
		if err := e.hold(l.count.kept); err != nil {
			return err
		}
		// An error belongs to the leaf: others may be evaluated before it, and have one of their own.
		l.failed = l.finish(e)
	}
	return nil
}

// readingError returns the error of a query whose reading has ended with an error: an error of a worker
// as it is, others in the library's words.
func (e *evaluation) readingError(err error, ofWorkers []error) error {
	if slices.ContainsFunc(ofWorkers, func(failed error) bool { return failed != nil && errors.Is(err, failed) }) {
		return err
	}
	if ended := e.ended(); ended != nil && errors.Is(err, e.ctx.Err()) { // of a wait for the turn
		return ended
	}
	return expanding(err)
}

// A readWorker evaluates one part of the series after the other, for all leaves of a read.
type readWorker struct {
	read       *read
	evaluation *evaluation
	leaves     []leafWorker
	failed     error // of Take or Commit

	samples   int64
	summaries int64
	computing time.Duration
}

// A leafWorker evaluates one leaf.
type leafWorker struct {
	*evaluator
	lasting block.Arena // of series that are kept
	scratch block.Arena // of series that are aggregated
	found   []found
	held    int64 // samples
}

// found is a series with at least one value.
type found struct {
	index  int
	floats bool // before mappings
	block.Series
}

func newReadWorker(r *read, e *evaluation) *readWorker {
	w := &readWorker{read: r, evaluation: e, leaves: make([]leafWorker, len(r.leaves))}
	for i, l := range r.leaves {
		w.leaves[i] = leafWorker{
			evaluator: newEvaluator(&l.windows),
			lasting:   block.Arena{Account: e.account},
			scratch:   block.Arena{Account: e.account},
		}
	}
	return w
}

var _ columns.Worker = (*readWorker)(nil)

// Take evaluates a part.
func (w *readWorker) Take(ctx context.Context, part iter.Seq2[int, columns.Column]) error {
	begin := time.Now()
	w.failed = w.take(ctx, part)
	w.computing += time.Since(begin)
	return w.failed
}

func (w *readWorker) take(ctx context.Context, part iter.Seq2[int, columns.Column]) (err error) {
	defer recovered(&err)
	for k := range w.leaves {
		l := &w.leaves[k]
		l.found = l.found[:0]
		l.scratch.Reuse()
		l.ended = func() bool { return ctx.Err() != nil }
	}
	for i, c := range part {
		w.samples += int64(len(c.Times) + len(c.Histograms))
		w.summaries += int64(len(c.Summaries))
		for k := range w.leaves {
			if err := w.series(&w.leaves[k], w.read.leaves[k], i, c); err != nil {
				return err
			}
		}
	}
	return contextError(ctx)
}

func (w *readWorker) series(lw *leafWorker, l *leaf, i int, c columns.Column) error {
	memory := &lw.scratch
	if l.keeps {
		memory = &lw.lasting
	}
	values, err := memory.Take(l.grid.Steps)
	if err != nil {
		return err
	}
	n := lw.evaluate(l.columns.Labels(i), c, values)
	if n == 0 {
		memory.GiveBack(values, 0)
		return nil
	}
	s := block.Series{Values: values, Hists: lw.hists}
	floats := s.Hists == nil || block.CountPresent(values) > 0
	for _, m := range l.mappings {
		m.all(i, &s, m.constants)
	}
	s.Trim()
	if len(s.Values) <= len(values)/2 {
		copy(values, s.Values)
		s.Values = values[:len(s.Values):len(s.Values)]
		memory.GiveBack(values, len(s.Values))
	}
	lw.found = append(lw.found, found{i, floats, s})
	lw.held += int64(n)
	return w.evaluation.hold(n)
}

// Commit hands the series of the part to the leaves.
func (w *readWorker) Commit(ctx context.Context) error {
	begin := time.Now()
	if w.failed = w.commit(); w.failed == nil {
		w.failed = contextError(ctx)
	}
	w.computing += time.Since(begin)
	return w.failed
}

func (w *readWorker) commit() (err error) {
	defer recovered(&err)
	for k, l := range w.read.leaves {
		for _, f := range w.leaves[k].found {
			if err := l.add(w.evaluation, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// end hands over the memory and the counts of a worker.
func (w *readWorker) end() {
	w.read.samples += w.samples
	w.read.summaries += w.summaries
	w.read.computing += w.computing
	for k, l := range w.read.leaves {
		lw := &w.leaves[k]
		lw.scratch.Free()
		l.held += lw.held
		l.result.Memory.Join(&lw.lasting)
		l.count.add(lw.count)
	}
}

// every returns whether summaries are all that the leaves need, and what the begins and ends of their ranges are
// multiples of, in milliseconds; 0 if there is one range.
func (r *read) every() (every int64, ok bool) {
	one := true
	for _, l := range r.leaves {
		if l.summary == nil || l.earlier > 0 || l.later > 0 {
			return 0, false
		}
		start, end := l.window(0)
		every = block.CommonDivisor(block.CommonDivisor(every, start), end)
		if l.grid.Steps > 1 && !l.fixed {
			every = block.CommonDivisor(every, l.grid.Interval)
			one = false
		}
		one = one && start+1 == r.selector.Start && end == r.selector.End
	}
	if one {
		return 0, true
	}
	return every, true
}
