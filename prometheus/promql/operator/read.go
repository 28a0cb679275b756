package operator

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// A Read is the samples of one selector, read once for all leaves of the plan that need them.
type Read struct {
	Selector columns.Selector
	Leaves   []*Leaf
	Shared   bool // may get further leaves

	Done bool
	err  error

	Found     int   // series
	Samples   int64 // that were read
	Summaries int64 // that were read
	Took      time.Duration
	Computing time.Duration // of all workers
	Rows      *query.Tally  // nil before it runs
}

// NeedsNewest reports whether no leaf needs more than the newest sample of each series.
func (r *Read) NeedsNewest() bool {
	for _, l := range r.Leaves {
		if _, end := l.Window(0); l.Function != nil || l.Smooth || l.Grid.Steps != 1 || end != r.Selector.End {
			return false
		}
	}
	return true
}

// Instants reports whether the newest sample within a lookback is all that is needed at each step.
func (r *Read) Instants(lookback int64) bool {
	for _, l := range r.Leaves {
		if l.Function != nil || l.Smooth || l.Length != lookback {
			return false
		}
	}
	return len(r.Leaves) > 0
}

// run reads, and gives every leaf its series.
func (r *Read) run(e *Evaluation) error {
	if !r.Done {
		r.Done = true
		watch := e.Start()
		r.err = r.all(e)
		r.Took = e.Stop(watch)
	}
	return r.err
}

// partPoints is how many points of the answer a part may have. The samples of a part should stay in the
// processor's cache until they are evaluated.
const partPoints = 1 << 14

func (r *Read) all(e *Evaluation) error {
	ctx, rows := query.BeginTally(e.Ctx)
	r.Rows = rows
	set, err := e.Find(ctx, r.Selector, r.points())
	if err != nil {
		return Expanding(err)
	}
	r.Found = set.Len()
	steps := 1
	for _, l := range r.Leaves {
		steps = max(steps, l.Grid.Steps)
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
		return e.ReadingError(err, failed)
	}
	for _, l := range r.Leaves {
		// The library has the samples of a step in memory, in addition to those of the answer.
		if err := e.Peak(l.Count.Most + l.Count.Kept); err != nil {
			return err
		}
		if err := e.Hold(l.Count.Kept); err != nil {
			return err
		}
		// An error belongs to the leaf: others may be evaluated before it, and have one of their own.
		l.failed = l.finish(e)
	}
	return nil
}

// ReadingError returns the error of a query whose reading has ended with an error: an error of a worker
// as it is, others in the library's words.
func (e *Evaluation) ReadingError(err error, ofWorkers []error) error {
	if slices.ContainsFunc(ofWorkers, func(failed error) bool { return failed != nil && errors.Is(err, failed) }) {
		return err
	}
	if ended := e.Ended(); ended != nil && errors.Is(err, e.Ctx.Err()) { // of a wait for the turn
		return ended
	}
	return Expanding(err)
}

// A readWorker evaluates one part of the series after the other, for all leaves of a read.
type readWorker struct {
	read       *Read
	evaluation *Evaluation
	leaves     []leafWorker
	failed     error // of Take or Commit

	samples   int64
	summaries int64
	computing time.Duration
}

// A leafWorker evaluates one leaf.
type leafWorker struct {
	*rangefn.Evaluator
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

func newReadWorker(r *Read, e *Evaluation) *readWorker {
	w := &readWorker{read: r, evaluation: e, leaves: make([]leafWorker, len(r.Leaves))}
	for i, l := range r.Leaves {
		w.leaves[i] = leafWorker{
			Evaluator: rangefn.NewEvaluator(&l.Windows),
			lasting:   block.Arena{Account: e.Account},
			scratch:   block.Arena{Account: e.Account},
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
	defer Recovered(&err)
	for k := range w.leaves {
		l := &w.leaves[k]
		l.found = l.found[:0]
		l.scratch.Reuse()
		l.Ended = func() bool { return ctx.Err() != nil }
	}
	for i, c := range part {
		w.samples += int64(len(c.Times) + len(c.Histograms))
		w.summaries += int64(len(c.Summaries))
		for k := range w.leaves {
			if err := w.series(&w.leaves[k], w.read.Leaves[k], i, c); err != nil {
				return err
			}
		}
	}
	return ContextError(ctx)
}

func (w *readWorker) series(lw *leafWorker, l *Leaf, i int, c columns.Column) error {
	memory := &lw.scratch
	if l.Keeps {
		memory = &lw.lasting
	}
	values, err := memory.Take(l.Grid.Steps)
	if err != nil {
		return err
	}
	n := lw.Evaluate(l.columns.Labels(i), c, values)
	if n == 0 {
		memory.GiveBack(values, 0)
		return nil
	}
	s := block.Series{Values: values, Hists: lw.Hists}
	floats := s.Hists == nil || block.CountPresent(values) > 0
	for _, m := range l.Mappings {
		m.All(i, &s, m.constants)
	}
	s.Trim()
	if len(s.Values) <= len(values)/2 {
		copy(values, s.Values)
		s.Values = values[:len(s.Values):len(s.Values)]
		memory.GiveBack(values, len(s.Values))
	}
	lw.found = append(lw.found, found{i, floats, s})
	lw.held += int64(n)
	return w.evaluation.Hold(n)
}

// Commit hands the series of the part to the leaves.
func (w *readWorker) Commit(ctx context.Context) error {
	begin := time.Now()
	if w.failed = w.commit(); w.failed == nil {
		w.failed = ContextError(ctx)
	}
	w.computing += time.Since(begin)
	return w.failed
}

func (w *readWorker) commit() (err error) {
	defer Recovered(&err)
	for k, l := range w.read.Leaves {
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
	w.read.Samples += w.samples
	w.read.Summaries += w.summaries
	w.read.Computing += w.computing
	for k, l := range w.read.Leaves {
		lw := &w.leaves[k]
		lw.scratch.Free()
		l.Held += lw.held
		l.result.Memory.Join(&lw.lasting)
		l.Count.Add(lw.Count)
	}
}

// Every returns whether summaries are all that the leaves need, and what the begins and ends of their ranges are
// multiples of, in milliseconds; 0 if there is one range.
func (r *Read) Every() (every int64, ok bool) {
	one := true
	for _, l := range r.Leaves {
		if l.Summary == nil || l.Earlier > 0 || l.Later > 0 {
			return 0, false
		}
		start, end := l.Window(0)
		every = block.CommonDivisor(block.CommonDivisor(every, start), end)
		if l.Grid.Steps > 1 && !l.Fixed {
			every = block.CommonDivisor(every, l.Grid.Interval)
			one = false
		}
		one = one && start+1 == r.Selector.Start && end == r.Selector.End
	}
	if one {
		return 0, true
	}
	return every, true
}
