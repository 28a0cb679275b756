package rangeql

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/prometheus/prometheus/promql"
)

// worker evaluates one part of the series after the other.
type worker struct {
	run       *run
	evaluator evaluator
	slabs     slabs // of the answer's points
	scratch   slabs // of points that are aggregated
	found     []evaluated
	failed    error // of Take or Commit
}

var _ ColumnWorker = (*worker)(nil)

// evaluated are the points of a series, at least one.
type evaluated struct {
	series int
	points []promql.FPoint
}

// Take evaluates a part.
func (w *worker) Take(ctx context.Context, part iter.Seq2[int, Column]) error {
	w.failed = w.evaluate(ctx, part)
	return w.failed
}

func (w *worker) evaluate(ctx context.Context, part iter.Seq2[int, Column]) (err error) {
	defer func() {
		// The library, too, returns an error for it.
		if p := recover(); p != nil {
			err = fmt.Errorf("unexpected error: %v", p)
		}
	}()
	w.found = w.found[:0]
	w.scratch.reuse()
	w.evaluator.ended = func() bool { return ctx.Err() != nil }
	for i, c := range part {
		if err := w.series(i, c.Times, c.Values); err != nil {
			return err
		}
	}
	return contextError(ctx)
}

// Commit accepts the points of the part.
func (w *worker) Commit(ctx context.Context) error {
	if w.failed = w.run.commit(w.found); w.failed == nil {
		w.failed = contextError(ctx)
	}
	return w.failed
}

func (w *worker) series(i int, times []int64, values []float64) error {
	s := &w.slabs
	if w.run.groups != nil {
		s = &w.scratch
	}
	points := s.give(w.evaluator.series(times, values, s.take(w.run.plan.steps)))
	if len(points) == 0 {
		return nil
	}
	w.found = append(w.found, evaluated{i, points})
	if err := w.run.hold(len(points)); err != nil || w.run.groups != nil {
		return err
	}
	return w.run.claim()
}

// contextError returns the end of a context in the library's words, nil before it.
func contextError(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		return promql.ErrQueryCanceled("expression evaluation")
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout("expression evaluation")
	default:
		return err
	}
}
