package rangeql

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/turns"
)

// worker evaluates one part of the series after the other.
type worker struct {
	run       *run
	evaluator evaluator
	slabs     slabs // of the answer's points
	scratch   slabs // of points that are aggregated
	found     []evaluated
	samples   int // of the part
}

// evaluated are the points of a series, at least one.
type evaluated struct {
	series int
	points []promql.FPoint
}

// work evaluates parts while it has a turn, which it gives away between parts.
func (w *worker) work(ctx context.Context, turn *turns.Turn) (err error) {
	w.evaluator.ended = func() bool { return ctx.Err() != nil }
	defer func() {
		// The library, too, returns an error for it.
		if p := recover(); p != nil {
			err = fmt.Errorf("unexpected error: %v", p)
		}
	}()
	defer w.scratch.free()
	if turn.Resume(ctx) != nil {
		return contextError(ctx)
	}
	for turn.Yield(ctx) == nil {
		part, ok := w.run.parts.next()
		if !ok {
			return nil
		}
		if err := w.part(ctx, part); err != nil {
			return err
		}
	}
	return contextError(ctx)
}

// part evaluates a part and commits it when its turn has come.
func (w *worker) part(ctx context.Context, p part) error {
	w.found, w.samples = w.found[:0], 0
	w.scratch.reuse()
	err := w.run.columns.Read(ctx, p.from, p.to, func(i int, times []int64, values []float64) error {
		w.samples += len(times)
		return w.series(i, times, values)
	})
	if err != nil {
		return expanding(err)
	}
	w.run.parts.done(p, w.samples)
	select {
	case <-p.before:
	case <-ctx.Done():
		return contextError(ctx)
	}
	if err := w.run.commit(w.found); err != nil {
		return err
	}
	close(p.committed)
	return contextError(ctx)
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
